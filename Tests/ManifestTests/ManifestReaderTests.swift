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
    #expect(
      try read("{\"path\":\"a\"}\n\n{}\n{\"path\":\"b\"}") == [
        "a", "m:3: the key 'path' is missing or empty", "b",
      ])
  }

  /// Wherever its end lies in the pieces that are read at once.
  @Test(arguments: [1, 300_000])
  func aLineBeyondTheLimitIsPassedOver(excess: Int) throws {
    func line(_ path: String, _ count: Int) -> String {
      let frame = "{\"path\":\"\(path)\",\"text\":\"\"}"
      return
        "{\"path\":\"\(path)\",\"text\":\"\(String(repeating: "x", count: count - frame.utf8.count))\"}\n"
    }
    #expect(
      try read(line("a", 1 << 20) + line("b", (1 << 20) + excess) + line("c", 40)) == [
        "a", "m:2: the line is longer than 1MB; passed over, the next is read", "c",
      ])
  }
}
