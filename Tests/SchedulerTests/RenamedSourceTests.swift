import Foundation
import LedgerPort
import Testing

@testable import Scheduler

/// A message of a Maildir that was renamed after it was taken in is the source that it was.
struct RenamedSourceTests {
  private let folder = NSTemporaryDirectory() + "sluice-test-" + UUID().uuidString

  private func make(_ folders: [String], _ file: String) throws {
    for name in folders {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    try Data("a message".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
  }

  private func open(_ path: String) -> Source.Opening {
    Source(serial: 1, .file(Array("\(folder)/\(path)".utf8), folderDevice: nil)).open()
  }

  @Test(arguments: ["cur/17.a:2,S", "cur/17.a:2,FRS", "new/17.a"])
  func aMessageIsOpenedUnderTheNameThatItHasNow(name: String) throws {
    try make(["cur", "new", "tmp"], name)
    defer { try? FileManager.default.removeItem(atPath: folder) }  // the system clears what is left
    for asked in ["new/17.a", "cur/17.a:2,T"] {
      guard case .opened(let descriptor, let state) = open(asked) else {
        Issue.record("\(asked) is not found")
        continue
      }
      close(descriptor)
      #expect(state.size == 9)
    }
    guard case .failed(let fault) = open("new/17.b") else {
      Issue.record("another message is opened")
      return
    }
    #expect(fault.reason.code == "missing" && fault.remedy == .retry)
  }

  @Test func aFileInAFolderThatIsNoMaildirIsMissing() throws {
    try make(["cur", "new"], "cur/17.a:2,S")
    defer { try? FileManager.default.removeItem(atPath: folder) }  // the system clears what is left
    guard case .failed(let fault) = open("new/17.a") else {
      Issue.record("it is opened")
      return
    }
    #expect(fault.reason.code == "missing")
  }
}
