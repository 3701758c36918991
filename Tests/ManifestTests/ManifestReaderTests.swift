import Glibc
import Manifest
import Platform
import Testing

struct ManifestReaderTests {
  /// The result of each line: the attachment or the problem.
  private func read(_ text: String) throws -> [String] { try read(Array(text.utf8)) }

  private func read(_ text: [UInt8]) throws -> [String] {
    var template = Array("/tmp/sluice-manifest-XXXXXX".utf8CString)
    let file = Descriptor(owning: mkstemp(&template))
    unlink(template)
    #expect(pwrite(file.number, text, text.count, 0) == text.count)
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

  /// Wherever the end of the line lies within the buffers.
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

  @Test func aByteOrderMarkIsSkippedAtTheVeryStartOnly() throws {
    let line = "{\"path\":\"a\"}\n"
    #expect(try read("\u{FEFF}" + line + line) == ["a", "a"])
    #expect(try read("\u{FEFF}\n" + line) == ["a"])
    #expect(try read("\u{FEFF}").isEmpty)
    #expect(try read(line + "\u{FEFF}" + line).last?.hasPrefix("m:2: not a JSON object") == true)
  }

  @Test func aManifestInUTF16IsReadNoFurther() throws {
    for mark in ["", "\u{FEFF}"] {
      let text = (mark + "{\"path\":\"a\"}\n{\"path\":\"b\"}\n").utf16
      for bytes in [
        text.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] },
        text.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] },
      ] {
        #expect(try read(bytes) == ["m:1: in UTF-16, and UTF-8 is read; save it as UTF-8"])
      }
    }
  }
}
