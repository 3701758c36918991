import PDFDocument
import Testing

@testable import PDFStage

/// `pdf.javascript` is what poppler says after it has visited every page.
struct ScriptTests {
  init() throws { try #require(popplerIsReady) }

  private static let script = "<</S/JavaScript/JS(app.alert(1))>>"

  /// A document whose page has an action when it opens, in an object stream together with the page.
  private static func compressed(_ action: String = script) -> Draft {
    var draft = Draft()
    draft.objects[2] = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/AA<</O 4 0 R>>>>"
    draft.objects.append(action)
    draft.compressed = 2
    draft.references = .stream
    return draft
  }

  /// Whether the stage is certain that compressed objects have no script, and whether poppler finds one; `nil` if the
  /// document does not open. The names that are not compressed are left aside.
  private static func answers(_ document: [UInt8]) -> (isCertain: Bool, truth: Bool)? {
    document.withUnsafeBytes { bytes in
      guard let open = try? Document(bytes) else { return nil }
      return (ObjectStreams().haveNoScript(in: bytes), open.hasJavaScript)
    }
  }

  @Test func aCompressedScriptIsSeen() throws {
    #expect(try #require(Self.answers(Self.compressed().bytes)) == (false, true))
  }

  @Test(arguments: [
    "/Java#53cript/J#53(x)", "/#4AavaScript/JS(x)", "/JavaScript/#4aS(x)", "/#4AavaScript/#4AS(x)",
    "/J#61vaScript/J#53(x)",
  ])
  func aCompressedScriptIsSeenHoweverItIsWritten(_ action: String) throws {
    #expect(try #require(Self.answers(Self.compressed("<</S\(action)>>").bytes)) == (false, true))
  }

  @Test func compressedObjectsWithoutScriptsAreKnown() throws {
    var draft = Self.compressed("<</S/URI/URI(a/b)/J/Jump/NJS 1>>")
    #expect(try #require(Self.answers(draft.bytes)) == (true, false))
    draft.opening =
      "\n<<\n/Type /ObjStm\n/N COUNT\n/First FIRST\n/Extends 1 0 R\n/Length 8 0 R\n/Filter /FlateDecode >>\r\nstream\r\n"
    #expect(try #require(Self.answers(draft.bytes)).isCertain)
  }

  @Test func aScriptIsSeenWhereverItsNameIsCut() throws {
    // The piece ends within the name, and the data are longer than one piece.
    for shift in 0..<8 {
      let action = "<</X(\(String(repeating: "x", count: 32_700 + shift)))/S/JavaScript/JS(x)>>"
      var draft = Self.compressed(action)
      #expect(try #require(Self.answers(draft.bytes)) == (false, true))
      draft = Self.compressed(action.replacing("/JavaScript/JS(", with: "/URI/URI("))
      #expect(try #require(Self.answers(draft.bytes)) == (true, false))
    }
    for end in 0..<40 {
      let text = String(repeating: "x", count: 32_740 + end) + "/JS"
      let found = Self.unpack(zlib(Array(text.utf8)))
      #expect(!found, "\(end)")
    }
  }

  private static func unpack(_ packed: [UInt8]) -> Bool {
    var budget = 1 << 20
    return packed.withUnsafeBytes { Inflater().unpack($0, &budget, ObjectStreams.hasNoScript) }
  }

  /// Each of these may be read otherwise than it looks, or is more than is known.
  @Test(arguments: [
    "\n<</N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode/DecodeParms<</Predictor 1>>>>\nstream\n",
    "\n<</N COUNT/First FIRST/Length LENGTH/Filter[/FlateDecode]>>\nstream\n",
    "\n<</N COUNT/F#69rst FIRST/Length LENGTH/Filter/FlateDecode>>\nstream\n",
    "\n<</N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode/F 9>>\nstream\n",
    "\n<</N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode%\n>>\nstream\n",
    "\n<</N COUNT/First FIRST/Length LENGTH/Filter/Fl>>\nstream\n",
    "\n<</Filter/RunLengthDecode/X %3 0 obj<<\n/N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode>>\nstream\n",
    "\n<</X<</N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode>>\nstream\n",
    "\n<</N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode/Filter/FlateDecode>>\nstream\n",
    "\n<</N COUNT/First FIRST/Length LENGTH/Filter/FlateDecode>>\nstream \n",
    "\n<</N COUNT/First FIRST/Length LENGTH>>\nstream\n",
  ])
  func aDictionaryThatIsNotKnownIsLeftToPoppler(_ opening: String) throws {
    var draft = Self.compressed("<</S/URI>>")
    let before = draft.bytes
    #expect(before.withUnsafeBytes { ObjectStreams().haveNoScript(in: $0) })
    draft.opening = opening
    #expect(!draft.bytes.withUnsafeBytes { ObjectStreams().haveNoScript(in: $0) })
  }

  @Test func dataThatAreDamagedOrTooLargeAreLeftToPoppler() {
    var draft = Self.compressed("<</S/URI>>")
    draft.pack = { data in zlib(data).dropLast() + zlib(data).suffix(1).map { $0 ^ 1 } }
    #expect(!draft.bytes.withUnsafeBytes { ObjectStreams().haveNoScript(in: $0) })
    draft.pack = { stored([UInt8](repeating: 32, count: ObjectStreams.budget) + $0) }
    #expect(!draft.bytes.withUnsafeBytes { ObjectStreams().haveNoScript(in: $0) })
    draft.pack = { stored([UInt8](repeating: 32, count: ObjectStreams.budget / 3) + $0) }
    #expect(draft.bytes.withUnsafeBytes { ObjectStreams().haveNoScript(in: $0) })
    let many = [UInt8](String(repeating: "/First 1 ", count: ObjectStreams.limit + 1).utf8)
    #expect(many.withUnsafeBytes { Names.offsets(of: .first, in: $0, limit: ObjectStreams.limit) } == nil)
  }

  /// Blocks of data that unpack to nothing use the budget up as well.
  @Test func dataThatUnpackToNothingAreBounded() {
    let empty: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
    let packed = [0x78, 0x01] + Array(repeating: empty, count: 50_000).joined() + stored([]).dropFirst(2)
    var budget = 100_000
    #expect(!packed.withUnsafeBytes { Inflater().unpack($0, &budget) { _ in true } })
    #expect(budget < 0 && budget > -100_000)
    budget = 300_000
    #expect(packed.withUnsafeBytes { Inflater().unpack($0, &budget) { _ in true } })
  }

  @Test func noScriptIsOverlookedHoweverADocumentIsChanged() throws {
    let words = [
      "/First 9 ", "/N 1 ", "/Filter/FlateDecode", "/Filter[/FlateDecode]", "/DecodeParms<</Predictor 12>>",
      "%", "%\n", "(", ")", "<<", ">>", "5 0 obj", "\n5 0 obj<<", "stream\n", "endstream", "/Length 9 ",
      "/W[1 2 1]", "/W 1 ", "/JS", "#4A", "/Fi#72st 9 ", "/RunLengthDecode",
      "trailer<</Root 1 0 R>>", "/OpenAction 4 0 R", "null ", " ", "/Names<</JavaScript 4 0 R>>",
      "/S/Rendition",
    ]
    let actions = [
      Self.script, "<</S/URI/URI(x)>>", "<</S/Rendition/JS(x)>>", "<</S/JavaScriptX/JSX(x)>>",
      "<</S/URI/URI(x)/S/Jump>>",
    ]
    let scripts = Scripts()
    var random = Random(state: 20_260_106)
    var (opened, certain, withScript) = (0, 0, 0)
    for round in 0..<3_000 * rounds {
      var draft = Self.compressed(actions[round % actions.count])
      if round % 3 == 0 { draft.opening = draft.opening.replacing("/Type/ObjStm", with: "\n/Type /ObjStm\n") }
      // A change of the whole moves what the references lead to; one of the dictionary alone does not.
      if round % 4 != 0 {
        draft.opening = String(
          decoding: Array(draft.opening.utf8).changed(words, by: &random), as: UTF8.self)
      }
      let document = round % 4 != 0 ? draft.bytes : draft.bytes.changed(words, by: &random)
      document.withUnsafeBytes { bytes in
        guard let open = try? Document(bytes) else { return }
        let names = Names(in: bytes)
        let truth = names.contains(.script) || open.hasJavaScript
        opened += 1
        if truth { withScript += 1 }
        if ObjectStreams().haveNoScript(in: bytes) { certain += 1 }
        #expect(
          scripts.areThere(in: open, bytes, names) == truth,
          "round \(round): \(String(decoding: document, as: UTF8.self))")
      }
    }
    #expect(
      opened > 1_000 * rounds && certain > 300 * rounds && withScript > 100 * rounds,
      "\((opened, certain, withScript))")
  }
}
