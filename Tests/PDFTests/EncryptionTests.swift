import PDFDocument
import Testing

struct EncryptionTests {
  init() throws { try #require(popplerIsReady) }

  /// AES-256 with the empty password, and no restrictions. Revision 6.
  private static let dictionary = """
    <</Filter/Standard/V 5/R 6/Length 256/P -4/EncryptMetadata true\
    /O<000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f>\
    /U<d7cbddc5e8c89f57529b50e1b37f2f30d3a08ef361095722587d881e5b16503d736c756963657476736c75696365746b>\
    /OE<\(String(repeating: "11", count: 32))>/UE<\(String(repeating: "22", count: 32))>\
    /Perms<\(String(repeating: "33", count: 16))>\
    /CF<</StdCF<</CFM/AESV3/AuthEvent/DocOpen/Length 32>>>>/StmF/StdCF/StrF/StdCF>>
    """

  /// `nil`: it needs a password.
  private static func isEncrypted(_ dictionary: String?, _ references: Draft.References) -> Bool? {
    var draft = Draft()
    if let dictionary {
      draft.objects.append(dictionary)
      draft.trailer = "/Encrypt 4 0 R"
    }
    draft.references = references
    return draft.bytes.withUnsafeBytes { (try? Document($0))?.isEncrypted }
  }

  @Test(arguments: [Draft.References.table, .stream, .missing])
  func aDocumentForAllToReadIsEncrypted(_ references: Draft.References) {
    #expect(Self.isEncrypted(Self.dictionary, references) == true)
    #expect(Self.isEncrypted(nil, references) == false)
  }

  @Test func aDocumentWhoseFilterIsIdentityIsNotEncrypted() {
    let dictionary = Self.dictionary.replacing("/StmF/StdCF/StrF/StdCF", with: "/StmF/Identity/StrF/Identity")
    #expect(Self.isEncrypted(dictionary, .table) == false)
  }

  @Test func aDocumentWithAPasswordDoesNotOpen() {
    let dictionary = Self.dictionary.replacing("/U<d7", with: "/U<d6")
    #expect(Self.isEncrypted(dictionary, .table) == nil)
  }
}
