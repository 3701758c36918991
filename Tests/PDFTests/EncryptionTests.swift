import PDFDocument
import Testing

@testable import PDFStage

/// `pdf.encrypted` is what opening the document itself with a wrong password says.
struct EncryptionTests {
  init() throws { try #require(popplerIsReady) }

  private static let wrong = "0yw4k2x1pqm5f"

  /// AES-256 with the empty password, and no restrictions. Revision 6.
  private static let dictionary = """
    <</Filter/Standard/V 5/R 6/Length 256/P -4/EncryptMetadata true\
    /O<000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f>\
    /U<d7cbddc5e8c89f57529b50e1b37f2f30d3a08ef361095722587d881e5b16503d736c756963657476736c75696365746b>\
    /OE<\(String(repeating: "11", count: 32))>/UE<\(String(repeating: "22", count: 32))>\
    /Perms<\(String(repeating: "33", count: 16))>\
    /CF<</StdCF<</CFM/AESV3/AuthEvent/DocOpen/Length 32>>>>/StmF/StdCF/StrF/StdCF>>
    """

  private static func encrypted(_ dictionary: String, _ references: Draft.References) -> [UInt8] {
    var draft = Draft()
    draft.objects.append(dictionary)
    draft.trailer = "/Encrypt 4 0 R"
    draft.references = references
    return draft.bytes
  }

  /// What the stage says and what the document itself says; `nil` if it does not open.
  private static func answers(_ document: [UInt8]) -> (stage: Bool, truth: Bool)? {
    document.withUnsafeBytes { bytes in
      guard let open = try? Document(bytes) else { return nil }
      return (
        Encryption().isThere(in: open, bytes, Names(in: bytes)),
        open.hasRestrictions || Document.needsPassword(bytes, not: wrong)
      )
    }
  }

  private static func places(_ document: [UInt8]) -> [Int] {
    document.withUnsafeBytes { Revision.places(in: $0, Names(in: $0)) }
  }

  @Test(arguments: [Draft.References.table, .stream, .missing])
  func aDocumentForAllToReadIsEncrypted(_ references: Draft.References) throws {
    let document = Self.encrypted(Self.dictionary, references)
    let answers = try #require(Self.answers(document))
    #expect(answers == (true, true))
    // The dictionary comes before the only stream.
    #expect(Self.places(document).count == 1)
  }

  @Test func aDocumentWhoseFilterIsIdentityIsNotEncrypted() throws {
    let dictionary = Self.dictionary.replacing("/StmF/StdCF/StrF/StdCF", with: "/StmF/Identity/StrF/Identity")
    let document = Self.encrypted(dictionary, .table)
    #expect(try #require(Self.answers(document)) == (false, false))
    #expect(Self.places(document).count == 1)
  }

  @Test func aPasswordThatIsWrongForRevision5AsWellIsNoneForRevision6() throws {
    // The text that revision 5 would take the empty password for.
    let dictionary = Self.dictionary.replacing(
      "d7cbddc5e8c89f57529b50e1b37f2f30d3a08ef361095722587d881e5b16503d",
      with: "80fb696e35ece72e7d84a147ae2a0765fe64d358d8abea0ca4dc7d51e4910aa7")
    #expect(Self.answers(Self.encrypted(dictionary, .table)) == nil)
    let earlier = dictionary.replacing("/R 6", with: "/R 5")
    #expect(try #require(Self.answers(Self.encrypted(earlier, .table))) == (true, true))
  }

  @Test(arguments: [
    ("/R 6/U", 1), ("/R 6>>", 1), ("/R 6 \n/U", 1), ("/R 6 0 R", 0), ("/R 6 0 obj", 0), ("/R 60/", 0),
    ("/R 6.5/", 0), ("/R 6", 0), ("/R  6/", 0), ("/R 6%/", 0), ("/R 6(/", 0), ("/R 6/R 6>", 2),
    ("stream/R 6/", 1), ("/W[1 2 1]stream/R 6/", 0), ("/W[1 2 1]/R 6/stream/R 6/", 1),
    ("/W[0 9]stream/R 6/", 1),
  ])
  func aRevisionIsADigitBeforeADelimiter(_ text: String, _ count: Int) {
    #expect(Self.places(Array(text.utf8)).count == count)
  }

  /// The bytes `/R 6/` are two offsets in a cross-reference stream. With another digit, the second would lead to an
  /// encryption dictionary instead of nothing.
  @Test func aDigitInAReferenceStreamIsNoRevision() throws {
    var bytes = Array("%PDF-1.7\n".utf8)
    var offsets: [Int] = []
    for (number, object) in zip(1..., Draft().objects) {
      offsets.append(bytes.count)
      bytes += "\(number) 0 obj\(object)endobj\n".utf8
    }
    let hidden = Int(UInt16(0x2035))
    bytes += [UInt8](repeating: 32, count: hidden - bytes.count)
    bytes += "%5 0 obj null endobj\n5 0 obj\(Self.dictionary)endobj\n".utf8
    bytes += [UInt8](repeating: 32, count: 0x3000 - bytes.count)
    let start = bytes.count
    bytes += "7 0 obj<</W[0 2 0]/Size 7/Length 14/Root 1 0 R/Encrypt 5 0 R>>stream\n".utf8
    bytes += ([0] + offsets).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + Array("/R 6//".utf8)
    bytes += "\nendstream endobj\nstartxref\n\(start)\n%%EOF\n".utf8
    #expect(try #require(Self.answers(bytes)) == (false, false))

    let digit = try #require(bytes.lastIndex(of: UInt8(ascii: "6")))
    bytes[digit] = UInt8(ascii: "5")
    #expect(try #require(Self.answers(bytes)) == (true, true))
  }

  @Test func theAnswerIsThatOfTheDocumentHoweverItIsChanged() throws {
    let weak = """
      <</Filter/Standard/V 1/R 2/P -4/O<\(String(repeating: "C9", count: 32))>\
      /U<\(String(repeating: "AF", count: 32))>>>
      """
    let words = [
      "/R 6/", "/R 6>", "/R 6 ", "(/R 6/)", "(/R 6/", "%/R 6/\n", "/R 5", "/R 6/R 4", "stream\n",
      "/Encrypt 4 0 R",
      "/Encrypt 3 0 R", "trailer<</Root 1 0 R/Encrypt 4 0 R>>", "\ntrailer<</Root 1 0 R>>\n",
      "/StmF/Identity/StrF/Identity", "endobj\n", "\n4 0 obj<</Filter/Standard/R 6/V 5>>endobj\n",
      "4 0 obj ", "<<",
      ">>", "/P -3904", "/V 4", "/CF<<>>", "\nxref\n", "startxref\n9\n", " ",
    ]
    var random = Random(state: 20_260_105)
    var opened = 0
    var encrypted = 0
    for round in 0..<200 * rounds {
      let references: Draft.References = [.table, .stream, .missing][round % 3]
      var draft = Draft()
      draft.references = references
      let plain = draft.bytes
      let base = [Self.encrypted(Self.dictionary, references), Self.encrypted(weak, references), plain][
        round / 3 % 3]
      let document = base.changed(words, by: &random)
      guard let answers = Self.answers(document) else { continue }
      opened += 1
      if answers.truth { encrypted += 1 }
      #expect(answers.stage == answers.truth, "round \(round): \(String(decoding: document, as: UTF8.self))")
    }
    #expect(opened > 60 * rounds && encrypted > 15 * rounds, "\(opened) opened, \(encrypted) encrypted")
  }
}
