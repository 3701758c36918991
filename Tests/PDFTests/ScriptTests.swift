import PDFDocument
import Testing

/// `pdf.javascript` says whether something that runs has a script, in plain and in compressed objects.
struct ScriptTests {
  init() throws { try #require(popplerIsReady) }

  private static let script = "<</S/JavaScript/JS(app.alert(1))>>"

  /// Entries of the catalog and of the page, and further objects from 4 on.
  private static func draft(_ catalog: String, _ page: String, _ more: [String]) -> Draft {
    var draft = Draft()
    draft.objects[0] = "<</Type/Catalog/Pages 2 0 R\(catalog)>>"
    draft.objects[2] = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]\(page)>>"
    draft.objects += more
    return draft
  }

  private static func hasScript(_ draft: Draft) throws -> Bool {
    try draft.bytes.withUnsafeBytes { try Document($0).inspect().hasScript }
  }

  private static let places: [(String, String, [String])] = [
    ("/OpenAction 4 0 R", "", [script]),
    ("/AA<</WC 4 0 R>>", "", [script]),
    ("", "/AA 5 0 R", [script, "<</O 4 0 R>>"]),
    ("/Names 5 0 R", "", [script, "<</JavaScript 6 0 R>>", "<</Kids[7 0 R]>>", "<</Names[(a)4 0 R]>>"]),
    ("/OpenAction 5 0 R", "", [script, "<</S/URI/URI(a)/Next 6 0 R>>", "[7 0 R 4 0 R]", "<</S/Hide>>"]),
    (
      "/Outlines 5 0 R", "",
      [script, "<</First 6 0 R>>", "<</Next 7 0 R>>", "<</First 8 0 R>>", "<</A 4 0 R>>"]
    ),
    ("", "/Annots[5 0 R]", [script, "<</Subtype/Link/A 4 0 R>>"]),
    ("", "/Annots 5 0 R", ["<</S/Rendition/JS(x)>>", "[6 0 R]", "<</Subtype/Screen/A 4 0 R>>"]),
    ("/AcroForm 5 0 R", "", [script, "<</Fields[6 0 R]>>", "<</Kids[7 0 R]>>", "<</AA<</C 4 0 R>>>>"]),
  ]

  /// Poppler 22.12 by itself sees three of these nine, and no name is there to be found in the bytes.
  @Test(arguments: places.indices, [0, 1])
  func aScriptIsSeenInCompressedObjects(_ index: Int, _ isWrittenOtherwise: Int) throws {
    let (catalog, page, more) = Self.places[index]
    var objects = more
    if isWrittenOtherwise == 1 {
      objects = objects.map {
        $0.replacing("/JavaScript/", with: "/Java#53cript/").replacing("/JS(", with: "/J#53(")
      }
    }
    var draft = Self.draft(catalog, page, objects)
    draft.compressed = objects.count
    draft.references = .stream
    #expect(String(decoding: draft.bytes, as: UTF8.self).firstRange(of: "JavaScript") == nil)
    #expect(try Self.hasScript(draft))
    draft.objects[3] = "<</S/URI/URI(/S/JavaScript/JS(x))>>"
    #expect(try !Self.hasScript(draft))
  }

  @Test func aScriptIsSeenAtTheEndOfAChainOfAHundredThousandActions() throws {
    let chain = (5..<100_005).map { "<</S/Hide/Next \($0) 0 R>>" }
    #expect(try Self.hasScript(Self.draft("/OpenAction 4 0 R", "", chain + [Self.script])))
    #expect(try !Self.hasScript(Self.draft("/OpenAction 4 0 R", "", chain + ["<</S/Hide/Next 4 0 R>>"])))
  }

  @Test(.timeLimit(.minutes(1)))
  func aDocumentInWhichEverythingLeadsToEverythingEnds() throws {
    let all = "[" + (4..<304).map { "\($0) 0 R " }.joined() + "]"
    let keys = ["A", "AA", "Next", "First", "Kids", "Names", "Parent", "Prev", "NA"]
    let knot = "<<" + keys.map { "/\($0) 304 0 R" }.joined() + ">>"
    let catalog =
      "/OpenAction 4 0 R/AA 4 0 R/Outlines 4 0 R/AcroForm<</Fields 304 0 R>>"
      + "/Names<</JavaScript 4 0 R/EmbeddedFiles 4 0 R>>/AF 304 0 R"
    let more = [String](repeating: knot, count: 300) + [all]
    #expect(try !Self.hasScript(Self.draft(catalog, "/Annots 304 0 R/PresSteps 4 0 R", more)))
  }

  @Test(.timeLimit(.minutes(1)))
  func aTreeOfPagesWithMoreWaysThanPagesIsWalkedOnce() throws {
    // Two ways at each of sixty levels.
    var draft = Draft()
    draft.objects[1] = "<</Type/Pages/Kids[4 0 R 4 0 R]/Count 3>>"
    draft.objects += (5..<65).map { "<</Type/Pages/Kids[\($0) 0 R \($0) 0 R]/Count 3>>" }
    draft.objects.append("<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>>")
    let count = try draft.bytes.withUnsafeBytes { try Document($0).pageCount }
    #expect(count == 2)
  }
}
