import Configuration
import Testing

struct BadFileTests {
  static let all =
    BadFile.syntax + BadFile.keys + BadFile.stages + BadFile.options + BadFile.combinations + BadFile.lanes

  @Test(arguments: all)
  func aBadFileIsToldWhereWhatAndWhatToDo(file: BadFile) {
    #expect(!file.complaints.isEmpty)
    #expect(Samples.complaints(file.text) == file.complaints)
  }

  @Test func everyTableIsRead() {
    #expect(Self.all.count > 120 && (BadFile.cases + BadFile.expectations).count > 30)
  }

  @Test func aDiagnosticIsOneLineThatBeginsWithTheFile() {
    let diagnostic = Diagnostic(
      file: "etc/p.yaml", line: 14, column: 9, message: "unknown key 'x'", remedy: "drop it")
    #expect(diagnostic.description == "etc/p.yaml:14:9: unknown key 'x'; drop it")
    var short = diagnostic
    short.remedy = nil
    #expect(short.description == "etc/p.yaml:14:9: unknown key 'x'")
    #expect(ConfigurationError(diagnostics: [diagnostic, short]).description == "\(diagnostic)\n\(short)")
  }

  @Test func bytesThatAreNoUTF8AreFoundByLineAndColumn() {
    let before = Array("version: 1\r\n# é\nstagés: ".utf8)
    #expect(
      Samples.complaints(before + [0xFF]) == [
        "3:9: not valid UTF-8: invalid leading UTF-8 octet; save the file as UTF-8"
      ])
    #expect(
      Samples.complaints(before + [0xC3, 0x28]) == [
        "3:10: not valid UTF-8: invalid trailing UTF-8 octet; save the file as UTF-8"
      ])
    // An encoded surrogate, and an overlong slash.
    #expect(Samples.complaints(before + [0xED, 0xA0, 0x80]).first?.hasPrefix("3:9: not valid UTF-8") == true)
    #expect(Samples.complaints(before + [0xC0, 0xAF]).first?.hasPrefix("3:9: not valid UTF-8") == true)
  }

  @Test func aFileInUTF16IsRefusedWithOrWithoutItsByteOrderMark() {
    let little = "version: 1\n".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    let big = "version: 1\n".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
    for bytes in [[0xFF, 0xFE] + little, [0xFE, 0xFF] + big, little, big] {
      #expect(
        Samples.complaints(bytes) == ["1:1: the file is in UTF-16, and UTF-8 is read; save it as UTF-8"])
    }
  }

  @Test func anEmptyFileWithAByteOrderMarkIsEmpty() {
    #expect(
      Samples.complaints([0xEF, 0xBB, 0xBF]) == [
        "1:1: the file is empty; it needs 'version: 1' and 'stages:' at least"
      ])
  }

  @Test func aFileOfMoreThanOneMebibyteIsRefused() {
    let file = Array("version: 1\nstages: [{ use: mime }]\n#".utf8)
    let limit = 1 << 20
    let largest = file + Array(repeating: UInt8(ascii: "-"), count: limit - file.count)
    #expect(Samples.complaints(largest) == [])
    #expect(
      Samples.complaints(largest + [UInt8(ascii: "-")]) == [
        "1:1: the file has 1048577 bytes, and 1MB is read; shorten it"
      ])
  }

  @Test func thirtyTwoLevelsAreReadAndNoMore() {
    func nested(_ depth: Int) -> [String] {
      // The file and its list of stages are the first two levels.
      let brackets = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      return Samples.complaints("version: 1\nstages: [\(brackets)]\n")
    }
    #expect(nested(30) == ["2:10: a stage is a map, not a list; write '{ use: NAME }'"])
    #expect(nested(31) == ["2:40: lists and maps are nested more than 32 deep; close the brackets before"])
    #expect(nested(100_000) == nested(31))
  }

  @Test func columnsCountCharactersNotBytes() {
    #expect(
      Samples.complaints("version: 1\nstages: [{ use: mime, \"äöü🎈\": 1 }]\n") == [
        "2:23: unknown key 'äöü🎈'; the keys here are: use, id, when, options, timeout, memory, output, "
          + "isolation, on-timeout, on-limit, on-crash"
      ])
    #expect(
      Samples.complaints("version: 1\nstages: [{ id: é, ues: mime }]\n").map { $0.prefix(5) } == [
        "2:16:", "2:19:",
      ])
  }

  @Test func aLongTextIsCutInMessages() {
    let long = String(repeating: "x", count: 900)
    let complaints = Samples.complaints("version: 1\nstages: [{ use: mime, \(long): 1 }]\n")
    #expect(complaints.first?.utf8.count ?? .max < 300)
    #expect(complaints.first?.contains("xxx…'") == true)
  }

  @Test func textThatWouldActOnTheTerminalIsEscaped() {
    let complaints = Samples.complaints("version: 1\nstages: [{ use: mime, \"\\e[2J\\u202E\": 1 }]\n")
    #expect(complaints.first?.hasPrefix("2:23: unknown key '\\u{1b}[2J\\u{202e}'") == true)
  }

  @Test func readingStopsWhereLookingPluginsUpIsOfNoUse() throws {
    func parses(_ text: String) -> Bool {
      (try? PipelineDocument.parse(Array(text.utf8), file: "p.yaml", environment: [:])) != nil
    }
    #expect(parses("version: 1\nstages: [{ use: mime, timeout: soon }]\nworkers: many\n"))
    #expect(!parses("version: 1\nstages: [{ use: mime }]\nplugins: [7: 8]\n"))
    #expect(!parses("version: 1\nstages: []\n"))
    #expect(!parses("version: 3\nstages: [{ use: mime }]\n"))
    #expect(!parses("version: 1\nstages: [{ use: mime }\n"))
  }
}
