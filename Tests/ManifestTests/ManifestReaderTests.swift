import Glibc
import Manifest
import Platform
import Testing

struct ManifestReaderTests {
  /// What is read, or what is wrong, of each line.
  private func read(_ text: String) throws -> [String] {
    var template = Array("/tmp/sluice-manifest-XXXXXX".utf8CString)
    let file = Descriptor(owning: mkstemp(&template))
    unlink(template)
    #expect(pwrite(file.number, text, text.utf8.count, 0) == text.utf8.count)
    var lines: [String] = []
    try ManifestReader(file.release(), name: "m").read(IntakeDefaults()) { result in
      switch result {
      case .success(let item): lines.append(String(decoding: item.source, as: UTF8.self))
      case .failure(let problem): lines.append(problem.text)
      }
      return true
    }
    return lines
  }

  @Test func eachLineIsReadOrToldWithItsNumber() throws {
    #expect(try read("{\"path\":\"a\"}\n\n{}\n{\"path\":\"b\"}") == [
      "a", "m:3: the key 'path' is missing or empty", "b",
    ])
  }

  /// Wherever its end lies in the pieces that are read at once.
  @Test(arguments: [1, 1000, 200_000, 300_000])
  func aLineBeyondTheLimitIsPassedOver(excess: Int) throws {
    let frame = "{\"path\":\"\"}".utf8.count
    let path = String(repeating: "x", count: (1 << 20) - frame)
    #expect(try read("{\"path\":\"\(path)\"}\n{\"path\":\"b\"}\n").last == "b")
    #expect(try read("{\"path\":\"\(path)\"}\n").first == path)
    let long = path + String(repeating: "x", count: excess)
    #expect(try read("{\"path\":\"\(long)\"}\n{\"path\":\"b\"}\n") == [
      "m:1: the line is longer than 1MB; passed over, the next is read", "b",
    ])
  }
}
