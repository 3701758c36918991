import Foundation
import LedgerPort
import Platform
import Testing

@testable import Scheduler

/// A message of a mailbox file is read from a copy that nothing can change, and only as long as it is what it was.
final class MboxSourceTests {
  private let path = NSTemporaryDirectory() + "sluice-test-" + UUID().uuidString
  private static let text = "Subject: a\n\nHello\n"

  deinit { unlink(path) }

  private func open(_ range: Range<Int64>) throws -> Source.Opening {
    let hash = try SHA256()
    Array(Self.text.utf8).withUnsafeBytes { hash.add($0) }
    let message = MboxPath(file: Array(path.utf8), range, sha256: hash.finish())
    let source = AttachmentSource.file(
      host: nil, path: message.path, size: 18, modified: 0, folderDevice: nil)
    return Source(serial: 1, source, DownloadsFolder(path: "/nowhere", store: "/nowhere")).open()
  }

  private func put(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }

  @Test func itIsACopyThatNothingCanChange() throws {
    try put("From x\n\(Self.text)\nFrom y\n")
    guard case .copied(let copy, let state) = try open(7..<25) else {
      Issue.record("it is not copied")
      return
    }
    defer { copy.close() }
    try put("another content")
    var bytes = [UInt8](repeating: 0, count: 100)
    #expect(pread(copy.content, &bytes, 100, 0) == 18 && state.size == 18)
    #expect(String(decoding: bytes[..<18], as: UTF8.self) == Self.text)
    #expect(write(copy.content, "x", 1) < 0 && pwrite(copy.memory, "x", 1, 0) < 0)
    #expect(ftruncate(copy.memory, 100) != 0)
  }

  @Test(arguments: ["", "From x\n", "From x\nSubject: b\n\nHello\n\n", "From x\n\nSubject: a\n\nHello\n"])
  func anotherContentInItsPlaceIsNotRead(text: String) throws {
    try put(text)
    guard case .failed(let fault) = try open(7..<25) else {
      Issue.record("it is opened")
      return
    }
    #expect(fault.reason.code == "source-changed" && fault.remedy == .retry)
  }

  @Test func aMailboxThatIsGoneIsMissing() throws {
    guard case .failed(let fault) = try open(7..<25) else {
      Issue.record("it is opened")
      return
    }
    #expect(fault.reason.code == "missing" && fault.remedy == .retry)
  }
}
