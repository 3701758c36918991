import CPlatform
import CStage
import CWorker
import Glibc
import Pipeline
import Wire

/// One piece of work on its way through the stages, and what they say of it: what the contract calls a call.
final class Call {
  /// Why the stage at hand decides as it does. Starts afresh with each stage.
  struct Explanation {
    var code: String?
    var message: String?
    var retryAfter: Int64?
    var pausesLane = false
  }

  /// How much the result held when a stage began, so that what later stages said can be taken back.
  struct Mark {
    var stages: Int
    var metadata: Int
    var emissions: Int
    var mediaType: String?
    var location: String?
  }

  /// What the contract calls this. A number, which no other call ever has, and no address: a stage that keeps the handle of
  /// one that has ended says nothing of another.
  let handle = Call.nextHandle()
  /// The stage that is speaking.
  var stage: OpenStage
  /// Its place among the worker's stages.
  var stageIndex = 0
  var explanation = Explanation()
  /// What the stage's words rest on, where it promises to repeat them.
  var basis: String?
  /// When a stage that turns was given it, in nanoseconds.
  var began: UInt64 = 0
  /// What it rejects for its length alone, where it promises to.
  var lengthLimit: LengthLimit?
  var settled: sluice_verdict?
  var result: WorkResult
  /// By the worker's index of a stage that flushes: the state after it.
  var marks: [(stage: Int, mark: Mark)] = []
  let input: WorkInput?
  /// Tells the coordinator how far a transfer is; `nil`: it is none.
  var tell: ((TransferNews.Kind) -> Void)?
  private let tracer: Tracer?
  private let status: UnsafePointer<sluice_status>?
  private let arena = Arena()
  private var metadataBytes = 0
  /// What is written beside the content.
  var pieces: Pieces

  /// - Parameter status: where the coordinator says that the result is not wanted any more.
  init(
    stage: OpenStage, input: WorkInput? = nil, tracer: Tracer?, status: UnsafePointer<sluice_status>? = nil
  ) {
    self.stage = stage
    self.input = input
    self.tracer = tracer
    self.status = status
    pieces = Pieces(input?.pieces ?? -1, room: input?.room ?? ChildRoom(contents: 0, bytes: 0))
    result = WorkResult(serial: input?.serial ?? 0)
    Self.live[handle] = Unmanaged.passUnretained(self)
  }

  /// Of a transfer.
  init(
    stage: OpenStage, transfer serial: UInt64, tracer: Tracer?, tell: @escaping (TransferNews.Kind) -> Void
  ) {
    self.stage = stage
    self.tell = tell
    self.tracer = tracer
    (input, status) = (nil, nil)
    pieces = Pieces(-1, room: ChildRoom(contents: 0, bytes: 0))
    result = WorkResult(serial: serial)
    Self.live[handle] = Unmanaged.passUnretained(self)
  }

  deinit { Self.live[handle] = nil }

  // Unchecked because a stage may use its calls on the worker's one thread only.
  nonisolated(unsafe) private static var live: [OpaquePointer?: Unmanaged<Call>] = [:]
  nonisolated(unsafe) private static var lastHandle: UInt = 0
  /// Told what is wrong with the handle of a call that has ended.
  nonisolated(unsafe) static var complainOfStray: (String) -> Void = { _ in }

  private static func nextHandle() -> OpaquePointer? {
    lastHandle += 1
    return OpaquePointer(bitPattern: lastHandle)
  }

  /// `nil`: it has ended, or was never one.
  static func from(_ handle: OpaquePointer?) -> Call? { live[handle]?.takeUnretainedValue() }

  /// The stage has decided. Where it works on many at once, the call ends with that: what is said after it is dropped.
  func settle(_ verdict: sluice_verdict) {
    trace("settle", Verdict(rawValue: verdict)?.name ?? "verdict \(verdict)")
    settled = verdict
    if stage.turns || stage.isSource { Self.live[handle] = nil }
  }

  /// The result is not wanted any more.
  var isCancelled: Bool {
    guard let status, let input, input.serial != 0 else { return false }
    return sluice_status_cancelled(status, input.serial) != 0
  }

  /// Tells what happens, if the worker is traced.
  func trace(_ call: String, _ text: @autoclosure () -> String) {
    tracer?.tell(stage.definition.id, call, text())
  }

  // MARK: What stages say

  /// The most metadata that one piece of work gathers in this worker, in bytes.
  static let metadataLimit = 24 << 10
  private static let keyLimit = 128

  func annotate(_ key: UnsafePointer<CChar>?, _ value: MetadataValue) {
    guard let key = key.map({ String(cString: $0) }) else { return }
    trace("annotate", "\(key) = \(value.text)")
    guard stage.declares(key: key) else {
      return complain(loudly: "annotates '\(key)', which its description does not list; dropped")
    }
    var value = value
    if case .text(let text) = value { value = .text(Self.cut(text, to: 4000)) }
    if case .number(let number) = value, !number.isFinite { return }
    guard key.utf8.count <= Self.keyLimit, PlainName.isOne(key) else {
      return complain(loudly: "annotates a key that is none, or longer than \(Self.keyLimit) bytes; dropped")
    }
    let known = result.report.metadata.firstIndex { $0.key == key }
    let old = known.map { size(of: result.report.metadata[$0]) } ?? 0
    let datum = Metadatum(key: key, value: value)
    let bytes = metadataBytes - old + size(of: datum)
    guard bytes <= Self.metadataLimit, known != nil || result.report.metadata.count < 512 else {
      return complain(loudly: "annotates more than \(Self.metadataLimit) bytes; '\(key)' dropped")
    }
    metadataBytes = bytes
    if let known { result.report.metadata[known] = datum } else { result.report.metadata.append(datum) }
  }

  private func size(of datum: Metadatum) -> Int { datum.key.utf8.count + datum.value.text.utf8.count + 16 }

  func metadata(_ key: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
    let name = String(cString: key)
    let own = result.report.metadata.first { $0.key == name }?.value.text
    let value = own.map { arena.keep($0) } ?? input?.metadata.first { strcmp($0.key, key) == 0 }?.value
    trace("metadata", "\(name) -> \(value.map { String(cString: $0) } ?? "none")")
    return value
  }

  /// All metadata that is known: of earlier stages, and what was said here.
  var knownMetadata: [(key: String, value: String)] {
    let own = result.report.metadata.map { (key: $0.key, value: $0.value.text) }
    let earlier = (input?.metadata ?? []).map {
      (key: String(cString: $0.key), value: String(cString: $0.value))
    }
    return earlier.filter { one in !own.contains { $0.key == one.key } } + own
  }

  func setMediaType(_ text: String) {
    trace("set_media_type", text)
    guard text.utf8.count <= 255, MediaTypePattern.isMediaType(text) else {
      return complain(loudly: "sets the media type '\(Self.cut(text, to: 100))', which is none; dropped")
    }
    result.report.mediaType = text
    input?.attachment.pointee.media_type = arena.keep(text)
  }

  func explain(_ code: UnsafePointer<CChar>?, _ sentence: UnsafePointer<CChar>?) {
    var code = code.map { Self.cut(String(cString: $0), to: 100) }
    trace("explain", "\(code ?? "no code"): \(sentence.map { String(cString: $0) } ?? "no sentence")")
    if let named = code, result.serial != 0, !stage.declares(code: named) {
      complain("gives the code '\(named)', which its description does not list")
      code = "undeclared"
    }
    explanation.code = code
    explanation.message = sentence.map { Self.cut(String(cString: $0), to: 1000) }
  }

  func expand(_ template: String) -> UnsafePointer<CChar>? {
    guard let template = stage.template(template), let attachment = input?.attachment.pointee else {
      return nil
    }
    func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
    let mediaType = attachment.media_type.map { String(cString: $0) }
    let path = template.path { name in
      switch name {
      case "conversationId": text(attachment.conversation_id)
      case "messageId": text(attachment.message_id)
      case "attachmentId": text(attachment.id)
      case "senderId": text(attachment.sender_id)
      case "fileName": text(attachment.file_name)
      case "sha256": text(attachment.sha256)
      case "extension": PathTemplate.fileExtension(for: mediaType)
      case "type": mediaType?.split(separator: "/").first.map(String.init) ?? ""
      case "subtype": mediaType?.split(separator: "/").last.map(String.init) ?? ""
      default: ""
      }
    }
    trace("expand", "\(template) -> \(path ?? "too long")")
    return path.flatMap { arena.keep($0) }
  }

  /// The stage breaks the contract in a way that does no harm.
  func complain(_ what: String) {
    trace(TraceLine.complaint, what)
    write(what)
  }

  /// The same, of what the operator should know: something of the stage's is missing.
  func complain(loudly what: String) {
    trace(TraceLine.complaint, what)
    log(.warning, what)
  }

  /// A line that the stage logs: on standard error, and for the operator, but for what helps its author only.
  func log(_ level: LogLevel, _ line: String) {
    trace("log", "\(level.name): \(line)")
    write(level > .info ? "\(level.name): \(line)" : line)
    if level < .info { return }
    if result.report.remarks.count >= Remark.limits.count {
      // What was done may be many lines. A warning is not lost among them.
      guard level > .info, let place = result.report.remarks.lastIndex(where: { $0.level == .info }) else {
        return
      }
      result.report.remarks.remove(at: place)
    }
    let text = Self.cut(line, to: Remark.limits.length)
    result.report.remarks.append(Remark(index: stageIndex, level: level, text: text))
  }

  private func write(_ line: String) {
    let text = "\(stage.definition.id): \(Self.cut(line, to: 1000))\n"
    _ = text.withCString { Glibc.write(2, $0, strlen($0)) }
  }

  /// At most so many bytes, whole characters only.
  static func cut(_ text: String, to limit: Int) -> String {
    if text.utf8.count <= limit { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
    while end > text.utf8.startIndex, text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }

  // MARK: What the worker records

  func record(stage index: Int, _ raw: sluice_verdict, microseconds: Int64) {
    let verdict = Verdict(rawValue: raw) ?? .fail
    if Verdict(rawValue: raw) == nil {
      complain("answers with verdict \(raw), which the contract does not know")
      explanation = Explanation(
        message: "the stage answers with verdict \(raw), which the contract does not know")
    }
    if let (code, message) = pieces.overflow {
      explanation = Explanation(code: code, message: message)
      return append(stage: index, .reject, microseconds)
    }
    append(stage: index, verdict, microseconds)
  }

  private func append(stage index: Int, _ verdict: Verdict, _ microseconds: Int64) {
    result.report.results.append(
      StageResult(
        index: index, verdict: verdict, code: verdict == .pass ? nil : explanation.code ?? "unexplained",
        message: verdict == .pass ? nil : explanation.message ?? "the stage gives no reason",
        microseconds: microseconds,
        retryAfter: explanation.retryAfter, pausesLane: explanation.pausesLane))
  }

  /// Remembers the state after a stage whose pass counts only once it is flushed.
  func mark(stage index: Int) {
    marks.append(
      (
        index,
        Mark(
          stages: result.report.results.count, metadata: result.report.metadata.count,
          emissions: result.report.emissions.count,
          mediaType: result.report.mediaType, location: result.report.location)
      ))
  }

  /// The barrier of a stage says otherwise than its `process` did: the stage's verdict changes, and what later stages
  /// said of an attachment that never came so far is taken back.
  func amend(stage index: Int, to verdict: sluice_verdict) {
    guard let mark = marks.first(where: { $0.stage == index })?.mark, mark.stages > 0 else { return }
    result.report.results.removeLast(result.report.results.count - mark.stages)
    result.report.metadata.removeLast(max(result.report.metadata.count - mark.metadata, 0))
    result.report.emissions.removeLast(result.report.emissions.count - mark.emissions)
    result.report.mediaType = mark.mediaType
    result.report.location = nil
    marks.removeAll { $0.stage > index }
    let passed = result.report.results.removeLast()
    record(stage: index, verdict, microseconds: passed.microseconds)
  }
}
