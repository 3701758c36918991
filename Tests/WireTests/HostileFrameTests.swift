import Pipeline
import Testing
import Wire

/// Frames that a compromised worker may send: each is read or refused, without any other effect.
struct HostileFrameTests {
  private static let result: WorkResult = {
    var result = WorkResult(serial: 7)
    result.report.results = [
      .init(index: 0, verdict: .pass, code: nil, message: nil, microseconds: 12),
      .init(
        index: 2, verdict: .retry, code: "later", message: "not now: ü", microseconds: 9, retryAfter: 50,
        pausesLane: true),
    ]
    result.report.metadata = [
      .init(key: "a.text", value: .text("some text")), .init(key: "a.number", value: .number(1.5)),
      .init(key: "a.count", value: .integer(-3)), .init(key: "a.flag", value: .boolean(true)),
    ]
    result.report.mediaType = "application/pdf"
    result.report.location = "documents/c/m/document.pdf"
    result.report.emissions = [.init(type: "attachment.completed", channel: "events", audience: .everyone)]
    result.report.remarks = [.init(index: 2, level: .warning, text: "the content is odd: ü")]
    result.report.produced = true
    return result
  }()

  private static let description: StageDescription = {
    var description = StageDescription(id: "x", version: "1", summary: "Does x.", file: "x.so")
    var option = OptionDescription(name: "max", kind: .bytes, shapes: [.one, .map], help: "The most.")
    option.fallback = "10MB"
    option.choices = ["10MB", "20MB"]
    option.range = 1...(1 << 40)
    description.options = [option]
    description.keys = [.init(name: "x.*", help: "All.")]
    description.codes = [.init(name: "bad", help: "It is.")]
    return description
  }()

  /// Reads a frame as the coordinator does.
  private static func read(_ bytes: [UInt8]) -> WorkResult? {
    bytes.withUnsafeBytes { buffer in
      var reader = FrameReader(buffer)
      do {
        switch try reader.kind() {
        case .result: return try WorkResult(&reader, stageCount: 3)
        case .ready: _ = try Ready(&reader)
        case .refusal: _ = try Refusal(&reader)
        case .description: _ = try StageDescription(&reader, file: "x.so")
        case .trace: _ = try TraceLine(&reader)
        case .question: _ = try PluginQuestion(&reader)
        case .news: _ = try TransferNews(&reader)
        case .fault: _ = try ProgramFault(&reader)
        case .pieces: _ = try PieceList.read(&reader, end: 1 << 20)
        case .order: _ = try TransferOrder(&reader)
        case .setup, .work, .transfer, .commands, .results, .declined, .welcome, .workersQuestion, .workers,
          .pipelineQuestion, .pipeline,
          .serve, .reply, .replies, .part, .parts, .finish, .takeBody, .store, .abort, .drain, .inform,
          .serving, .request, .requests, .body, .cut, .stored, .ended,
          .doors, .take, .answer, .close, .open, .asked, .taken, .left:
          break
        }
      } catch {
        #expect(!"\(error)".isEmpty)
      }
      return nil
    }
  }

  @Test func aFrameThatIsWholeIsReadAsItWasWritten() throws {
    let read = try #require(Self.read(Self.result.frame))
    #expect(read.frame == Self.result.frame)
  }

  @Test func aFrameThatEndsAnywhereIsRefused() {
    let trace = TraceLine(stage: "pdf", call: "annotate", text: "pdf.pages = 3")
    for frame in [
      Self.result.frame, Self.description.frame,
      Ready(sandbox: 3, bases: ["b", nil], lengthLimits: [nil, LengthLimit(bytes: 7, code: "too-large")])
        .frame,
      trace.frame,
    ] {
      for count in 0..<frame.count { #expect(Self.read(Array(frame[..<count])) == nil, "\(count)") }
    }
  }

  @Test func aFrameThatGoesOnIsRefused() {
    #expect(Self.read(Self.result.frame + [0]) == nil)
  }

  /// A mutated frame that is accepted keeps the limits that the rest of the coordinator relies on.
  @Test func aChangedFrameIsReadWithinItsBoundsOrRefused() {
    var random = Xorshift(state: 0x9E37_79B9_7F4A_7C15)
    let frames = [
      Self.result.frame, Self.description.frame, Refusal(stage: "x", message: "no").frame,
      Ready(sandbox: 3).frame,
    ]
    var accepted = 0
    for round in 0..<40_000 {
      var frame = frames[round % frames.count]
      for _ in 0...(Int(random.next() % 4)) {
        let place = Int(random.next() % UInt64(frame.count))
        switch random.next() % 4 {
        case 0: frame[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: frame[place] ^= 1 << (random.next() % 8)
        // The lengths and counts, where errors are most likely.
        case 2:
          for index in place..<min(place + 4, frame.count) {
            frame[index] = random.next() % 2 == 0 ? 0xFF : 0x7F
          }
        default: frame.removeSubrange(place..<min(place + Int(random.next() % 8), frame.count))
        }
        if frame.isEmpty { frame = [18] }
      }
      guard let result = Self.read(frame) else { continue }
      accepted += 1
      #expect(
        result.report.results.count <= 3 && result.report.results.allSatisfy { (0..<3).contains($0.index) })
      #expect(result.report.results.allSatisfy { $0.microseconds >= 0 && $0.retryAfter ?? 0 >= 0 })
      #expect(result.report.results.allSatisfy { $0.retryAfter ?? 0 <= 30 * 86_400_000 })
      #expect(result.report.results.allSatisfy { $0.code.map(PlainName.isOne) ?? true })
      #expect(
        result.report.metadata.count <= 512 && result.report.metadata.allSatisfy { PlainName.isOne($0.key) })
      #expect(
        result.report.metadata.allSatisfy {
          if case .number(let number) = $0.value { number.isFinite } else { true }
        })
      #expect(result.report.mediaType.map(MediaTypePattern.isMediaType) ?? true)
      #expect(result.report.location.map(PathTemplate.isPath) ?? true)
      #expect(result.frame.count <= Frame.limit)
    }
    #expect(accepted > 100, "some changes are harmless, or this would test nothing")
  }

  @Test(arguments: ["", "../a", "/a", "a//b", "a/../b", "a/.b", "a\0b", "."])
  func aPlaceOutsideTheStoreIsRefused(location: String) {
    var result = Self.result
    result.report.location = location
    #expect(Self.read(result.frame) == nil)
  }

  /// Three bytes replace one that is not UTF-8.
  @Test func aTextIsWithinItsLimitOnceItIsUTF8() {
    var writer = FrameWriter(.refusal)
    writer.write("x")
    [UInt8](repeating: 0xFF, count: 8192).withUnsafeBytes { writer.write($0) }
    writer.bytes.withUnsafeBytes { buffer in
      var reader = FrameReader(buffer)
      #expect(throws: FrameError.self) {
        _ = try reader.kind()
        _ = try Refusal(&reader)
      }
    }
  }

  @Test(arguments: ["", "text", "text/", "/plain", "text/plain\n", "text/\u{1B}[2J", "té/xt", "*/*", "a/b/c"])
  func aMediaTypeThatIsNoneIsRefused(mediaType: String) {
    var result = Self.result
    result.report.mediaType = mediaType
    #expect(Self.read(result.frame) == nil)
  }

  @Test(arguments: ["", "two words", "line\n", "\u{1B}[2J", "é", "nul\0"])
  func aNameThatIsNotPlainIsRefused(name: String) {
    var result = Self.result
    result.report.results[1].code = name
    #expect(Self.read(result.frame) == nil)
    result = Self.result
    result.report.metadata[0].key = name
    #expect(Self.read(result.frame) == nil)
  }

  private struct Xorshift {
    var state: UInt64
    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
  }
}
