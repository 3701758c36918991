import Foundation
import Testing

/// The pictures that the stage `preview` leaves: how large they are, and whether they show what is there.
@Suite(.serialized)
struct PreviewTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private struct Shown {
    var said: Printed.StageRun
    /// By the file's name.
    var pictures: [String: Data]
    var err: String
  }

  private func show(_ content: Data, _ options: [String] = [], memory: String = "256MB") throws -> Shown {
    try folder.write("content", content)
    try? FileManager.default.removeItem(atPath: folder.path + "/out")
    let outcome = try SluiceCommand.run(
      ["stages", "run", "preview", "content", "--save", "out", "--format", "json", "--memory", memory]
        + options.flatMap { ["--set", $0] }, in: folder)
    var pictures: [String: Data] = [:]
    for name in folder.files(below: "out") {
      pictures[name] = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/out/" + name))
    }
    return Shown(said: try outcome.only(Printed.StageRun.self), pictures: pictures, err: outcome.err)
  }

  /// Of a PNG (ISO 15948, 11.2.2).
  private static func size(png: Data?) -> [Int]? {
    guard let png, png.starts(with: [0x89, 0x50, 0x4E, 0x47]), png.count > 24 else { return nil }
    let bytes = [UInt8](png[16..<24])
    return [bytes[..<4], bytes[4...]].map { $0.reduce(0) { $0 << 8 | Int($1) } }
  }

  /// A page with the operators in `content`; /H is Helvetica, which it does not embed.
  private static func page(_ content: String, width: Int = 200, height: Int = 100, font: String = "Helvetica")
    -> Data
  {
    Data(
      """
      %PDF-1.4
      1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
      2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
      3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 \(width) \(height)]/Contents 4 0 R
      /Resources<</Font<</H 5 0 R>>>>>>endobj
      4 0 obj<</Length \(content.utf8.count)>>stream
      \(content)
      endstream endobj
      5 0 obj<</Type/Font/Subtype/Type1/BaseFont/\(font)>>endobj
      trailer<</Root 1 0 R>>
      %%EOF

      """.utf8)
  }

  // MARK: Sizes

  @Test(arguments: [16, 100, 319, 320, 321, 2048])
  func noPictureIsLargerThanAskedOrThanTheImage(size: Int) throws {
    let shown = try show(Samples.data("photo.png"), ["size=\(size)", "format=png"])
    let expected = size < 320 ? [size, Int((Double(size) * 200 / 320).rounded())] : [320, 200]
    #expect(Self.size(png: shown.pictures["1-thumbnail.png"]) == expected, "\(shown.err)")
    #expect(shown.said.metadata["preview.width"]?.asInteger == expected[0])
    #expect(shown.said.metadata["preview.height"]?.asInteger == expected[1])
  }

  @Test(arguments: [1, 3, 6, 8] as [UInt8])
  func aPhotoIsUprightAndSaysNothingOfItsPlace(orientation: UInt8) throws {
    let shown = try show(Samples.photo(orientation: orientation), ["size=64"])
    let picture = try #require(shown.pictures["1-thumbnail.jpg"])
    #expect(try #require(Samples.size(jpeg: picture)) == (orientation > 4 ? (40, 64) : (64, 40)))
    for trace in ["Exif", "MM\0*", "http://ns.adobe.com"] {
      #expect(picture.range(of: Data(trace.utf8)) == nil)
    }
  }

  @Test func whatIsTransparentIsWhiteInAJPEGAndStaysInOthers() throws {
    let logo = try Samples.transparentPNG()
    #expect(try show(logo, ["format=png"]).pictures["1-thumbnail.png"]?[25] == 6, "truecolour with alpha")
    #expect(try show(logo).pictures["1-thumbnail.jpg"] != nil)
    let webp = try #require(try show(logo, ["format=webp"]).pictures["1-thumbnail.webp"])
    #expect(webp.starts(with: Data("RIFF".utf8)) && webp.range(of: Data("ALPH".utf8)) != nil)
  }

  @Test func pagesAreLargeEnoughToReadAndNoMoreThanThereAre() throws {
    let shown = try show(
      Self.page("0 0 9 9 re f", width: 595, height: 842), ["pages=3", "page-size=500", "format=png"])
    #expect(shown.pictures.keys.sorted() == ["1-thumbnail.png", "2-page-1.png"])
    #expect(Self.size(png: shown.pictures["2-page-1.png"]) == [353, 500])
    #expect(shown.said.metadata["preview.pages"]?.asInteger == 1)
  }

  /// More than 300 dots per inch show nothing more.
  @Test func aSmallPageIsNotBlownUp() throws {
    let shown = try show(Self.page("", width: 24, height: 12), ["size=2048", "format=png"])
    #expect(Self.size(png: shown.pictures["1-thumbnail.png"]) == [100, 50])
  }

  // MARK: Fonts

  /// In the sandbox, where no file can be opened.
  @Test(
    arguments: [
      "Helvetica", "Helvetica-BoldOblique", "Times-Roman", "Courier", "Symbol", "ZapfDingbats", "ArialMT",
      "Arial,Bold", "TimesNewRomanPS-ItalicMT", "Verdana", "Unknown",
    ])
  func textInAFontThatIsNotEmbeddedIsDrawn(font: String) throws {
    let text = try show(Self.page("BT /H 40 Tf 10 30 Td (abcd) Tj ET", font: font), ["format=png"])
    let blank = try show(Self.page("", font: font), ["format=png"])
    let sizes = [text, blank].compactMap { $0.pictures["1-thumbnail.png"]?.count }
    #expect(sizes.count == 2 && sizes[0] > 2 * sizes[1], "\(sizes) \(text.err)")
  }

  /// Of each poppler would write a line to standard error, of which 1 MB ends a worker.
  @Test func aHundredThousandUsesOfAFontThatIsNoneAreQuiet() throws {
    let uses = String(repeating: "BT /X 9 Tf (a) Tj /Y 9 Tf (a) Tj ET\n", count: 30_000)
    let page = Self.page(uses).replacing(
      Data("/H 5 0 R".utf8),
      with: Data(
        "/X<</Type/Font/Subtype/Type0/BaseFont/K/Encoding/Identity-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/K/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>]>>/Y 5 0 R"
          .utf8))
    let shown = try show(page)
    #expect(shown.said.verdict == "pass" && !shown.pictures.isEmpty, "\(shown.said) \(shown.err)")
    #expect(!shown.err.contains("font thing"), "\(shown.err)")
  }

  // MARK: Hostile

  @Test func aHugeImageIsNotDecoded() throws {
    let bomb = Samples.whitePNG(width: 60_000, height: 60_000, isThere: false)
    let shown = try show(bomb, memory: "64MB")
    #expect(shown.said.verdict == "pass" && shown.pictures.isEmpty)
    #expect(shown.said.metadata["preview.failed"] == "too-many-pixels")
    let allowed = try show(bomb, ["max-pixels=4000000000"])
    #expect(allowed.said.metadata["preview.failed"] == "image-damaged", "\(allowed.said) \(allowed.err)")
  }

  /// The pixels of a large image are scaled as they are read.
  @Test func aLargeImageNeedsLittleMemory() throws {
    let shown = try show(Samples.whitePNG(width: 20_000, height: 2000), memory: "64MB")
    #expect(shown.said.metadata["preview.width"]?.asInteger == 320, "\(shown.said) \(shown.err)")
  }

  @Test(arguments: ["photo.jpg", "photo.png", "animation.gif", "report.pdf"])
  func whatIsCutShortAnywherePasses(name: String) throws {
    let whole = try Samples.data(name)
    for tenth in 0..<10 {
      let shown = try show(whole.prefix(whole.count * tenth / 10), ["pages=2"])
      #expect(shown.said.verdict == "pass", "\(tenth): \(shown.said) \(shown.err)")
    }
  }

  // MARK: Likeness

  /// Grey values of a picture as others draw it, in 32 columns and lines.
  private func grey(_ file: String) throws -> [UInt8] {
    let path = "\(folder.path)/grey.pgm"
    let status = try FixtureStages.run(
      "/usr/bin/vipsthumbnail",
      [
        "\(folder.path)/\(file)", "--size", "32x32!", "--export-profile", "srgb", "-o",
        "\(folder.path)/small.png",
      ])
    #expect(status == 0)
    try #require(
      try FixtureStages.run(
        "/usr/bin/vips",
        ["colourspace", "\(folder.path)/small.png", path, "b-w"]) == 0)
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    try #require(bytes.count > 1024)
    return Array(bytes.suffix(1024))
  }

  private static func difference(_ one: [UInt8], _ other: [UInt8]) -> Double {
    zip(one, other).reduce(0) { $0 + abs(Double($1.0) - Double($1.1)) } / Double(one.count)
  }

  static let tools = ["/usr/bin/vipsthumbnail", "/usr/bin/vips", "/usr/bin/pdftoppm"]
  private static var areThere: Bool { tools.allSatisfy { FileManager.default.fileExists(atPath: $0) } }

  /// Of 255, on average for a pixel: other fonts stand for those that are not embedded, and edges are smoothed otherwise.
  private static let most = 8.0

  @Test(.enabled(if: areThere, "vipsthumbnail and pdftoppm are not installed"))
  func picturesOfImagesAreAsOthersMakeThem() throws {
    for name in ["photo.jpg", "photo.png", "animation.gif"] {
      _ = try show(Samples.data(name), ["format=png"])
      let difference = Self.difference(try grey("content"), try grey("out/1-thumbnail.png"))
      #expect(difference < Self.most, "\(name): \(difference)")
    }
  }

  @Test(.enabled(if: areThere, "vipsthumbnail and pdftoppm are not installed"))
  func picturesOfPagesAreAsOthersMakeThem() throws {
    var contents = [("report.pdf", try Samples.data("report.pdf"))]
    contents.append(("text", Self.page("BT /H 40 Tf 10 30 Td (abcd) Tj ET 0 0 50 20 re f")))
    if Corpus.isThere {
      let valid = Corpus.folder + "/pdf-valid"
      let names = try FileManager.default.contentsOfDirectory(atPath: valid).sorted()
      for name in names.enumerated().filter({ $0.offset % 20 == 0 }).map(\.element) {
        contents.append((name, try Data(contentsOf: URL(fileURLWithPath: valid + "/" + name))))
      }
    }
    var compared = 0
    var unlike: [String] = []
    for (name, content) in contents {
      let shown = try show(content, ["format=png"])
      #expect(shown.said.verdict == "pass", "\(name): \(shown.said)")
      if shown.pictures.isEmpty { continue }
      let status = try FixtureStages.run(
        "/usr/bin/pdftoppm",
        [
          "-cropbox", "-singlefile", "-scale-to", "320", "-png", "\(folder.path)/content",
          "\(folder.path)/other",
        ])
      if status != 0 { continue }
      compared += 1
      let difference = Self.difference(try grey("other.png"), try grey("out/1-thumbnail.png"))
      if difference >= Self.most { unlike.append("\(name): \(difference)") }
    }
    #expect(compared >= min(contents.count, 10), "\(compared)")
    // What the two backends of poppler draw differently, such as overprint.
    #expect(unlike.count <= compared / 10, "\(unlike) of \(compared)")
  }
}
