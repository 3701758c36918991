import Testing

@testable import HTTPServer

/// Forms, whole and broken, and cut at every byte.
struct FormReaderTests {
  /// What a form was taken for.
  private struct Found: Equatable {
    var parts: [FormReader.Part] = []
    var contents: [[UInt8]] = []
    var ends = 0
    var isWhole = false
  }

  /// Reads a form in pieces that end at these places.
  private static func read(
    _ form: String, type: String = "multipart/form-data; boundary=b", cutAt cuts: [Int] = []
  ) throws -> Found {
    var reader = try #require(FormReader(contentType: type))
    var found = Found()
    let bytes = Array(form.utf8)
    var start = 0
    for end in cuts + [bytes.count] {
      try Array(bytes[start..<end]).withUnsafeBytes { piece in
        try reader.take(piece) { piece in
          switch piece {
          case .part(let part):
            found.parts.append(part)
            found.contents.append([])
          case .bytes(let bytes): found.contents[found.contents.count - 1] += bytes
          case .partEnded: found.ends += 1
          }
        }
      }
      start = end
    }
    found.isWhole = reader.isWhole
    return found
  }

  private static let form =
    "preamble\r\n--b\r\nContent-Disposition: form-data; name=\"conversationId\"\r\n\r\nc1\r\n--b \t\r\n"
    + "content-disposition:form-data; name=file; filename=\"a%22b.pdf\"\r\nContent-Type: application/pdf\r\n\r\n"
    + "%PDF\r\n--\r\n-b\r\n--c\r\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--b--\r\nepilogue"

  @Test func whatAFormHasIsFoundHoweverItIsCut() throws {
    let whole = try Self.read(Self.form)
    #expect(
      whole.parts == [
        FormReader.Part(name: "conversationId"),
        FormReader.Part(name: "file", fileName: "a\"b.pdf", contentType: "application/pdf"),
        FormReader.Part(name: "empty"),
      ])
    #expect(
      whole.contents.map { String(decoding: $0, as: UTF8.self) } == [
        "c1", "%PDF\r\n--\r\n-b\r\n--c\r\r\n", "",
      ])
    #expect(whole.ends == 3 && whole.isWhole)
    let length = Self.form.utf8.count
    for first in 0...length {
      #expect(try Self.read(Self.form, cutAt: [first]) == whole, "cut at \(first)")
      let second = (first * 7919) % (length + 1)
      #expect(try Self.read(Self.form, cutAt: [min(first, second), max(first, second)]) == whole)
    }
    #expect(try Self.read(Self.form, cutAt: Array(0...length)) == whole, "byte by byte")
  }

  @Test func aFormWithoutItsEndIsNotWhole() throws {
    let end = try #require(Self.form.range(of: "--b--"))
    #expect(try !Self.read(String(Self.form[..<end.lowerBound])).isWhole)
    #expect(try !Self.read("").isWhole)
    #expect(try !Self.read("no form at all").isWhole)
  }

  @Test(arguments: [
    "--b\r\n\r\nx\r\n--b--", "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--",
    "--b\r\nContent-Disposition: attachment; name=\"x\"\r\n\r\nx\r\n--b--",
    "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--", "--b\r\nnonsense\r\n\r\nx\r\n--b--",
    "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b\r\n\r\nx\r\n--b--",
    "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\nx\r\n--b--",
    "--bx\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--", "--b -\r\n",
    "--b\r\nContent-Disposition: form-data; name=" + String(repeating: "a", count: 9000)
      + "\r\n\r\nx\r\n--b--",
    "--b" + String(repeating: " ", count: 9000) + "\r\n",
  ])
  func aFormThatBreaksARuleIsRefused(_ form: String) {
    #expect(throws: FormReader.Fault.self, "\(form.prefix(60))") { try Self.read(form) }
  }

  @Test func aBoundaryIsNeeded() {
    let long = String(repeating: "b", count: 71)
    for type in [
      "multipart/form-data", "multipart/mixed; boundary=b", "text/plain; boundary=b", "",
      "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
      "multipart/form-data; boundary=\(long)", "multipart/form-data; boundary=\"b \"",
    ] {
      #expect(FormReader(contentType: type) == nil, "\(type)")
    }
    #expect(FormReader(contentType: "Multipart/Form-Data; charset=utf-8; BOUNDARY=\"a b\"") != nil)
  }

  @Test func aNameMayBeExtended() throws {
    func part(_ names: String) throws -> FormReader.Part? {
      try Self.read("--b\r\nContent-Disposition: form-data; name=f; \(names)\r\n\r\n\r\n--b--").parts.first
    }
    #expect(try part("filename*=utf-8'de'%C3%A4%20b.pdf")?.fileName == "ä b.pdf")
    #expect(try part("filename*=UTF-8''b; filename=a")?.fileName == "b")
    for name in ["a.pdf", "latin1''a", "UTF-8''%FF", "UTF-8''%0", "UTF-8'a"] {
      #expect(throws: FormReader.Fault.self, "\(name)") { try part("filename*=\(name)") }
    }
  }

  /// What is held does not grow with the form.
  @Test func aLongFileIsPassedOnAsItComes() throws {
    var reader = try #require(FormReader(contentType: "multipart/form-data; boundary=b"))
    var (count, longest) = (0, 0)
    let head = Array("--b\r\nContent-Disposition: form-data; name=f; filename=g\r\n\r\n".utf8)
    let piece = [UInt8](repeating: 0x0D, count: 64 << 10)
    for bytes in [head] + Array(repeating: piece, count: 100) {
      try bytes.withUnsafeBytes { bytes in
        try reader.take(bytes) {
          guard case .bytes(let bytes) = $0 else { return }
          count += bytes.count
          longest = max(longest, bytes.count)
        }
      }
    }
    #expect(count >= 100 * piece.count - 4 && longest <= piece.count + 4)
  }
}
