import Foundation
import SQLite
import Testing

/// Files with a few changes, through every stage that parses them.
@Suite(.serialized)
struct MutatedContentTests {
  @Test func mutatedPDFsEndInOneState() throws { try Mutating(.pdf, seed: 1).run(count: 300) }
  @Test func mutatedImagesEndInOneState() throws { try Mutating(.image, seed: 1).run(count: 80) }
  @Test func mutatedTextsEndInOneState() throws { try Mutating(.text, seed: 1).run(count: 60) }

  @Test func aMutationIsTheSameEachTime() throws {
    let bases = try Mutating.Format.pdf.bases()
    for number in 0..<20 {
      let one = Mutation(bases, seed: 7, number: number)
      #expect(one.data == Mutation(bases, seed: 7, number: number).data)
      #expect(one.data != Mutation(bases, seed: 8, number: number).data)
    }
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct MutatedContentSoakTests {
  @Test(arguments: 1...20)
  func aThousandMutatedPDFsEndInOneState(seed: Int) throws {
    try Mutating(.pdf, seed: UInt64(1000 + seed)).run(count: 1000)
  }

  @Test(arguments: 1...4)
  func mutatedImagesAndTextsEndInOneState(seed: Int) throws {
    try Mutating(.image, seed: UInt64(2000 + seed)).run(count: 500)
    try Mutating(.text, seed: UInt64(3000 + seed)).run(count: 500)
  }
}

struct Mutating {
  enum Format: String {
    case pdf, image, text

    /// The files to mutate: the same set on every machine, and more if there is a corpus.
    func bases() throws -> [(name: String, data: Data)] {
      switch self {
      case .pdf: return try Self.made + corpus(["application/pdf"])
      case .image:
        let names = ["photo.jpg", "photo.png", "animation.gif"]
        return try names.map { ($0, try Samples.data($0)) } + [
          ("photo-6.jpg", try Samples.photo(orientation: 6))
        ]
          + [("logo.png", try Samples.transparentPNG())]
          + corpus(["image/jpeg", "image/png", "image/gif", "image/webp", "image/tiff"])
      case .text:
        let text = "Grüße, 你好, \u{202E}txet\u{202C} \u{1F600}\r\n<html>&amp;</html>\n"
        return [
          ("utf-8.txt", Data(String(repeating: text, count: 40).utf8)),
          ("utf-16.txt", Data([0xFF, 0xFE]) + text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }),
        ] + (try corpus(["text/plain", "text/html", "text/csv", "text/rtf"]))
      }
    }

    private static let made: [(name: String, data: Data)] = [
      (
        "page.pdf",
        HandmadePDF.page().adding(stream: Data("BT /F 9 Tf (a text) Tj ET".utf8)).adding(HandmadePDF.font)
          .data
      ),
      (
        "packed.pdf",
        HandmadePDF.page().adding(
          stream: Deflate.bomb("BT /F 9 Tf (A) Tj ET ", inflatesTo: 20_000), "/Filter /FlateDecode"
        ).adding(HandmadePDF.font).data
      ),
      (
        "rich.pdf",
        HandmadePDF.page(
          "/Annots [7 0 R]",
          catalog: "/Names << /EmbeddedFiles << /Names [(a) 8 0 R] >> >> /AcroForm << /Fields [7 0 R] >> "
            + "/OpenAction << /S /JavaScript /JS (1) >>"
        ).adding(stream: Data("BT /F 9 Tf (a) Tj ET /X Do".utf8)).adding(
          "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 9 0 R >> >>"
        ).adding("<< /Title <FEFF00E9> /CreationDate (D:20000229130000+01'00') /Author (Ann) >>").adding(
          "<< /Type /Annot /Subtype /Widget /FT /Tx /T (f) /V (v) /Rect [0 0 9 9] >>"
        ).adding("<< /Type /Filespec /F (a.txt) /EF << /F 4 0 R >> >>").adding(
          stream: Data("0 0 m".utf8), "/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
        ).with(trailer: "/Info 6 0 R").data
      ),
    ]

    /// Small files of these types.
    private func corpus(_ types: Set<String>) throws -> [(name: String, data: Data)] {
      guard Corpus.isThere else { return [] }
      let entries = try Corpus.entries().filter {
        types.contains($0["mime"]) && (50...20_000).contains(Int($0["bytes"]) ?? 0)
      }
      return try entries.sorted { $0.path < $1.path }.map {
        ($0.path, try Data(contentsOf: URL(fileURLWithPath: $0.file)))
      }
    }

    /// The time limit is a few seconds, so that a mutation that hangs costs little.
    var stages: String {
      let settings = "\n  timeout: 2s\n  memory: 256MB\n  on-timeout: reject"
      switch self {
      case .pdf: return "- use: pdf\(settings)\n- use: text\(settings)"
      case .image: return "- use: image\(settings)"
      case .text: return "- use: text\(settings)"
      }
    }
  }

  let format: Format
  let seed: UInt64

  init(_ format: Format, seed: UInt64) {
    self.format = format
    self.seed = seed
  }

  func run(count: Int) throws {
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.telling(
        """
        - use: size
          options: { max: 10MB, min: 0B }
        \(format.stages)
        """, more: "retry: { attempts: 2, backoff: 10ms, max: 50ms }"))
    let bases = try format.bases()
    var mutations: [String: Mutation] = [:]
    for number in 0..<count {
      let mutation = Mutation(bases, seed: seed, number: number)
      mutations["\(number)"] = mutation
      try inbox.folder.write("in/\(number)", mutation.data)
    }
    let hostile = HostileRun(
      inbox: inbox, timeouts: ["mime": 30_000, "pdf": 2000, "text": 2000, "image": 2000], memory: 256)
    let ended = try hostile.run(
      within: 600, name: { mutations[$0]?.description ?? $0 }, keep: { keep($0, mutations[$0]) })
    var ends: [String: Int] = [:]
    for record in ended.run.outcome.attachments {
      ends[record.code ?? "completed", default: 0] += 1
      // No known content crashes a worker. If one does, it is worth looking at, although it harms no other
      // attachment.
      if ["crashed", "forbidden-call", "invalid-reply"].contains(record.code) {
        print("mutation \(mutations[record.fileName]?.description ?? ""): \(record.message)")
        keep(record.fileName, mutations[record.fileName])
      }
    }
    Soak.row("a mutated \(format.rawValue)", tries: count, failures: ended.wrong)
    print(
      "mutated \(format.rawValue): "
        + ends.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
  }

  /// Saves the bytes where they outlive the test.
  private func keep(_ name: String, _ mutation: Mutation?) {
    let folder = SluiceCommand.projectFolder + "/.build/mutations"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try? mutation?.data.write(to: URL(fileURLWithPath: "\(folder)/\(format.rawValue)-\(seed)-\(name)"))
  }
}
