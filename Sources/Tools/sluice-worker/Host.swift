import CStage
import Glibc
import Pipeline
import Wire

/// The functions the contract gives to stages. Each is a top-level function: isolation is not checked through C function
/// pointers, and a stage may only call them on the thread it was called on.
enum Host {
  /// Lives as long as the process.
  static func makeTable() -> UnsafePointer<sluice_host> {
    let table = UnsafeMutablePointer<sluice_host>.allocate(capacity: 1)
    table.initialize(
      to: sluice_host(
        size: UInt32(MemoryLayout<sluice_host>.size), reserved: 0, explain: explain,
        annotate_text: annotateText,
        annotate_integer: annotateInteger, annotate_number: annotateNumber, annotate_boolean: annotateBoolean,
        metadata: metadata, set_media_type: setMediaType, set_location: setLocation, matches: matches,
        expand: expand, produce: produce, emit: emit, retry_after: retryAfter, pause: pause, settle: settle,
        progress: progress, cancelled: cancelled, log: log, repeatable: repeatable,
        reject_above: rejectAbove, extension: `extension`, checkpoint: checkpoint, received: received))
    return UnsafePointer(table)
  }
}

private func explain(_ call: OpaquePointer?, _ code: UnsafePointer<CChar>?, _ sentence: UnsafePointer<CChar>?)
{
  Call.from(call)?.explain(code, sentence)
}

private func annotateText(
  _ call: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) {
  guard let value else { return }
  Call.from(call)?.annotate(key, .text(String(cString: value)))
}

private func annotateInteger(_ call: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ value: Int64) {
  Call.from(call)?.annotate(key, .integer(value))
}

private func annotateNumber(_ call: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ value: Double) {
  Call.from(call)?.annotate(key, .number(value))
}

private func annotateBoolean(_ call: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ value: Int32) {
  Call.from(call)?.annotate(key, .boolean(value != 0))
}

private func metadata(_ call: OpaquePointer?, _ key: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? {
  guard let key else { return nil }
  return Call.from(call)?.metadata(key)
}

private func setMediaType(_ call: OpaquePointer?, _ mediaType: UnsafePointer<CChar>?) {
  guard let mediaType else { return }
  Call.from(call)?.setMediaType(String(cString: mediaType))
}

private func setLocation(_ call: OpaquePointer?, _ path: UnsafePointer<CChar>?) {
  guard let path, let call = Call.from(call) else { return }
  guard call.stage.raw.pointee.capability == SLUICE_STORE else {
    return call.complain("sets a location, which is for stages with capability store; dropped")
  }
  call.result.report.location = Call.cut(String(cString: path), to: PathTemplate.limit)
  call.trace("set_location", call.result.report.location ?? "")
}

private func matches(_ pattern: UnsafePointer<CChar>?, _ mediaType: UnsafePointer<CChar>?) -> Int32 {
  guard let pattern, let parsed = Patterns.shared.pattern(String(cString: pattern)) else { return 0 }
  return parsed.matches(mediaType.map { String(cString: $0) }) ? 1 : 0
}

private func expand(_ call: OpaquePointer?, _ template: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? {
  guard let template else { return nil }
  return Call.from(call)?.expand(String(cString: template))
}

private func produce(_ call: OpaquePointer?) -> Int32 {
  guard let call = Call.from(call) else { return -1 }
  guard call.stage.raw.pointee.flags & SLUICE_PRODUCES != 0 else {
    call.complain(
      "asks to write new content, which its description does not declare: "
        + (call.stage.definition.description.program == nil ? "SLUICE_PRODUCES" : "'produces'"))
    return -1
  }
  guard let input = call.input, input.output >= 0 else { return -1 }
  call.trace("produce", "")
  if call.result.report.produced { ftruncate(input.output, 0) }
  call.result.report.produced = true
  lseek(input.output, 0, SEEK_SET)
  return input.output
}

private func emit(
  _ call: OpaquePointer?, _ type: UnsafePointer<CChar>?, _ channel: UnsafePointer<CChar>?, _ audience: UInt32
) {
  guard let call = Call.from(call), let type, let channel else { return }
  guard let audience = Emission.Audience(rawValue: audience), call.result.report.emissions.count < 64
  else {
    return call.complain("emits more than 64 events, or to an audience that there is not; dropped")
  }
  let name = String(cString: channel)
  guard call.stage.definition.values.contains(where: { $0.text == name }) else {
    return call.complain("emits on channel '\(name)', which no option of it names; dropped")
  }
  call.trace("emit", "\(String(cString: type)) on \(String(cString: channel)) to \(audience)")
  call.result.report.emissions.append(
    .init(
      type: Call.cut(String(cString: type), to: 100), channel: Call.cut(String(cString: channel), to: 100),
      audience: audience))
}

private func retryAfter(_ call: OpaquePointer?, _ milliseconds: Int64) {
  guard let call = Call.from(call) else { return }
  call.explanation.retryAfter = max(milliseconds, 0)
  call.trace("retry_after", "\(milliseconds) ms")
}

private func pause(_ call: OpaquePointer?) {
  guard let call = Call.from(call) else { return }
  call.explanation.pausesLane = true
  call.trace("pause", "")
}

private func settle(_ call: OpaquePointer?, _ verdict: sluice_verdict) {
  guard let call = Call.from(call) else {
    return Call.complainOfStray("settles what has ended, or what it was never given; dropped")
  }
  call.settle(verdict)
}

private func progress(_ call: OpaquePointer?, _ fraction: Double) {
  Call.from(call)?.trace("progress", "\(fraction)")
}

private func checkpoint(_ call: OpaquePointer?, _ checkpoint: UnsafePointer<sluice_checkpoint>?) {
  guard let call = Call.from(call), let raw = checkpoint?.pointee else { return }
  guard let tell = call.tell else {
    return call.complain("tells how far a transfer is, which is for sources; dropped")
  }
  func validator(_ text: UnsafePointer<CChar>?) -> String? {
    // One that is too long would not be the server's once it is cut.
    text.map { String(cString: $0) }.flatMap { $0.utf8.count <= TransferNews.validatorLimit ? $0 : nil }
  }
  let total = raw.total == .max ? nil : Int64(clamping: raw.total)
  let bytes = Int64(clamping: raw.bytes)
  if let total, total < bytes {
    return call.complain("has \(bytes) bytes of \(total); dropped")
  }
  call.trace("checkpoint", "\(bytes) bytes of \(total.map(String.init) ?? "an unknown number")")
  tell(
    .checkpoint(
      TransferProgress(
        bytes: bytes, total: total, etag: validator(raw.etag), modified: validator(raw.modified))))
}

private func received(_ call: OpaquePointer?, _ bytes: UInt64) {
  Call.from(call)?.tell?(.received(Int64(clamping: bytes)))
}

/// Cancelled work is killed with its worker, so that a stage that asks is never told yes.
private func cancelled(_ call: OpaquePointer?) -> Int32 { Call.from(call)?.isCancelled == true ? 1 : 0 }

private func log(_ call: OpaquePointer?, _ level: UInt32, _ line: UnsafePointer<CChar>?) {
  guard let line else { return }
  Call.from(call)?.log(LogLevel(rawValue: level) ?? .error, String(cString: line))
}

/// Patterns already taken apart: options repeat for every attachment.
///
/// Unchecked because stages run on one thread.
private final class Patterns: @unchecked Sendable {
  static let shared = Patterns()
  private var known: [String: MediaTypePattern] = [:]

  func pattern(_ text: String) -> MediaTypePattern? {
    if let pattern = known[text] { return pattern }
    let pattern = MediaTypePattern(text)
    if known.count < 1024 { known[text] = pattern }
    return pattern
  }
}

private func repeatable(_ call: OpaquePointer?, _ basis: UnsafePointer<CChar>?) {
  guard let basis, let call = Call.from(call) else { return }
  call.basis = Call.cut(String(cString: basis), to: Ready.basisLimit)
  call.trace("repeatable", call.basis ?? "")
}

private func rejectAbove(_ call: OpaquePointer?, _ bytes: UInt64, _ code: UnsafePointer<CChar>?) {
  guard let code, let call = Call.from(call) else { return }
  let limit = LengthLimit(bytes: Int64(clamping: bytes), code: String(cString: code))
  call.trace("reject_above", "\(bytes) bytes: \(limit.code)")
  guard call.stage.declares(code: limit.code) else {
    return call.complain(
      "rejects by length with the code '\(limit.code)', which its description does not list; dropped")
  }
  call.lengthLimit = limit
}

// MARK: Extensions

private func `extension`(
  _ call: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafeRawPointer? {
  guard let name, let call = Call.from(call) else { return nil }
  let text = String(cString: name)
  call.trace("extension", text)
  return switch text {
  case SLUICE_EXTENSION_DOOR: UnsafeRawPointer(doorTable)
  case SLUICE_EXTENSION_DERIVATION: UnsafeRawPointer(PieceTables.derivation)
  case SLUICE_EXTENSION_EXPANSION: UnsafeRawPointer(PieceTables.expansion)
  default: nil
  }
}

/// Made once and never changed.
private nonisolated(unsafe) let doorTable: UnsafePointer<sluice_door> = {
  let table = UnsafeMutablePointer<sluice_door>.allocate(capacity: 1)
  table.initialize(
    to: sluice_door(size: UInt32(MemoryLayout<sluice_door>.size), reserved: 0, open: openDoor))
  return UnsafePointer(table)
}()

private func openDoor(_ call: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> Int32 {
  guard let path, let call = Call.from(call), call.stage.raw.pointee.capability == SLUICE_NETWORK else {
    errno = EPERM
    return -1
  }
  call.trace("door", String(cString: path))
  return Doors.open(path)
}
