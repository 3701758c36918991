import Foundation
import Platform
import Testing

@testable import Scheduler

struct DownloadsFolderTests {
  @Test func aFileThatIsAnObjectTooIsNotWrittenTo() throws {
    let home = NSTemporaryDirectory() + "sluice-downloads-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: home) }
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    let folder = DownloadsFolder(path: home + "/downloads", store: home + "/store")
    func append(_ text: String) throws -> Int64 {
      guard case .opened(let descriptor, let file) = folder.open(7) else {
        throw SystemError("opening a download")
      }
      defer { close(descriptor) }
      #expect(write(descriptor, text, text.utf8.count) == text.utf8.count)
      return file.size
    }
    #expect(try append("first") == 0)
    #expect(try append("") == 5, "it is gone on with")
    let object = home + "/object"
    #expect(link(folder.file(of: 7), object) == 0)
    #expect(try append("other") == 0, "it begins anew")
    #expect(try String(contentsOfFile: object, encoding: .utf8) == "first")
    #expect(try String(contentsOfFile: folder.file(of: 7), encoding: .utf8) == "other")
  }
}
