import CPlatform
import Glibc
import Pipeline
import StageKit

/// A whole stage, given contents by its C functions as a worker does it, with a host that looks at what it leaves.
///
/// Unchecked because a target runs one input at a time.
final class StageUnderFuzz: @unchecked Sendable {
  /// What the pipeline allows of children.
  static let room = ChildRoom(contents: 50, bytes: 1 << 20)

  private let stage: UnsafePointer<sluice_stage>
  private let instance: UnsafeMutableRawPointer?
  private let host: UnsafeMutablePointer<sluice_host>

  /// - Parameter values: of its options. A number is also given as one.
  init?(_ stage: UnsafePointer<sluice_stage>?, _ values: [(name: String, text: String)]) {
    guard let stage else { return nil }
    self.stage = stage
    let host = UnsafeMutablePointer<sluice_host>.allocate(capacity: 1)
    self.host = host
    host.initialize(to: FuzzHost.functions)
    var given = values.map { value in
      sluice_value(
        size: UInt32(MemoryLayout<sluice_value>.size), reserved: 0, name: strdup(value.name), key: nil,
        text: strdup(value.text), integer: Int64(value.text) ?? (value.text == "true" ? 1 : 0), number: 0)
    }
    let count = UInt32(given.count)
    let call = FuzzHost()
    var instance: UnsafeMutableRawPointer?
    let verdict = given.withUnsafeMutableBufferPointer { given in
      var opening = sluice_opening()
      opening.size = UInt32(MemoryLayout<sluice_opening>.size)
      opening.id = stage.pointee.id
      (opening.value_count, opening.values) = (count, UnsafePointer(given.baseAddress))
      (opening.host, opening.call, opening.folder) = (UnsafePointer(host), call.pointer, -1)
      return stage.pointee.open(stage, &opening, &instance)
    }
    if verdict != SLUICE_PASS { return nil }
    self.instance = instance
  }

  /// Gives it a content under a name, and checks what must hold whatever it is.
  ///
  /// - Parameter most: bytes that it may take out.
  func run(_ bytes: [UInt8], as name: String, most: Int) throws {
    let file = try MemoryFile(bytes)
    let call = FuzzHost()
    try demand(call.file >= 0, "no memory")
    let verdict = name.withCString { name in
      "id".withCString { id in
        var attachment = sluice_attachment()
        attachment.size = UInt32(MemoryLayout<sluice_attachment>.size)
        (attachment.attempt, attachment.file_name, attachment.content) = (1, name, file.descriptor)
        (attachment.id, attachment.conversation_id, attachment.message_id, attachment.sender_id) = (
          id, id, id, id
        )
        attachment.content_size = UInt64(bytes.count)
        var facts = stat()
        fstat(file.descriptor, &facts)
        attachment.modified = Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
        attachment.changed = Int64(facts.st_ctim.tv_sec) * 1_000_000_000 + Int64(facts.st_ctim.tv_nsec)
        return stage.pointee.process(instance, &attachment, call.pointer)
      }
    }
    try demand([SLUICE_PASS, SLUICE_REJECT, SLUICE_FAIL].contains(verdict), "the verdict \(verdict)")
    let codes = (0..<Int(stage.pointee.code_count)).map { String(cString: stage.pointee.codes[$0].name) }
    if verdict != SLUICE_PASS && !call.isRefused {
      try demand(call.code.map(codes.contains) == true, "the code \(call.code ?? "none")")
      try demand(call.code != "unreadable" && call.code != "not-written", "the system works")
    }
    try call.check(most: most)
  }
}

/// The host of one call.
private final class FuzzHost {
  let file = sluice_memfd("pieces", 0)
  private var starts: [(kind: Piece.Kind, start: Int64)] = []
  private var children = 0
  /// A rule that was broken while it was called.
  private var violation: String?
  private(set) var code: String?
  /// A child was refused, so that the host rejects the content.
  private(set) var isRefused = false

  deinit {
    close(file)
  }

  var pointer: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

  private static func of(_ call: OpaquePointer?) -> FuzzHost? {
    call.map { Unmanaged<FuzzHost>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
  }

  private var size: Int64 { Int64(lseek(file, 0, SEEK_END)) }

  private func begin(_ kind: Piece.Kind, _ name: UnsafePointer<CChar>?, _ type: UnsafePointer<CChar>?)
    -> Int32
  {
    if kind == .derived {
      let name = name.map { String(cString: $0) } ?? ""
      if !Piece.isName(name) { violation = "the name \(name.debugDescription)" }
      if type.flatMap({ String(validatingCString: $0) }).map(MediaTypePattern.isMediaType) != true {
        violation = "a media type that is none"
      }
    } else {
      if name.map({ String(validatingCString: $0) }) == .some(nil) { violation = "a name that is no UTF-8" }
      if children >= StageUnderFuzz.room.contents {
        isRefused = true
        return -1
      }
      children += 1
    }
    starts.append((kind, size))
    return file
  }

  func check(most: Int) throws(Violation) {
    try demand(violation == nil, violation ?? "")
    var bytes: Int64 = 0
    for (index, piece) in starts.enumerated() where piece.kind == .child {
      bytes += (index + 1 < starts.count ? starts[index + 1].start : size) - piece.start
    }
    try demand(bytes <= Int64(most), "\(bytes) bytes were taken out, and \(most) are allowed")
  }

  // The tables live as long as the process.
  nonisolated(unsafe) private static let derivation: UnsafeMutablePointer<sluice_derivation> = {
    let table = UnsafeMutablePointer<sluice_derivation>.allocate(capacity: 1)
    table.initialize(
      to: sluice_derivation(size: UInt32(MemoryLayout<sluice_derivation>.size), reserved: 0) {
        FuzzHost.of($0)?.begin(.derived, $1, $2) ?? -1
      })
    return table
  }()

  nonisolated(unsafe) private static let expansion: UnsafeMutablePointer<sluice_expansion> = {
    let table = UnsafeMutablePointer<sluice_expansion>.allocate(capacity: 1)
    table.initialize(
      to: sluice_expansion(
        size: UInt32(MemoryLayout<sluice_expansion>.size), reserved: 0,
        begin: { FuzzHost.of($0)?.begin(.child, $1, $2) ?? -1 },
        room: { call, contents, bytes in
          let taken = FuzzHost.of(call)?.children ?? 0
          contents?.pointee = UInt64(max(Int(StageUnderFuzz.room.contents) - taken, 0))
          bytes?.pointee = UInt64(StageUnderFuzz.room.bytes)
        }))
    return table
  }()

  static var functions: sluice_host {
    var host = sluice_host()
    host.size = UInt32(MemoryLayout<sluice_host>.size)
    host.explain = { call, code, _ in FuzzHost.of(call)?.code = code.map { String(cString: $0) } }
    host.annotate_text = { call, _, value in
      if value.flatMap({ String(validatingCString: $0) }) == nil {
        FuzzHost.of(call)?.violation = "metadata that is no UTF-8"
      }
    }
    host.annotate_integer = { _, _, _ in }
    host.annotate_number = { _, _, _ in }
    host.annotate_boolean = { _, _, _ in }
    host.metadata = { _, _ in nil }
    host.set_media_type = { _, _ in }
    host.set_location = { _, _ in }
    host.matches = { _, _ in 0 }
    host.expand = { _, _ in nil }
    host.produce = { _ in -1 }
    host.emit = { _, _, _, _ in }
    host.retry_after = { _, _ in }
    host.pause = { _ in }
    host.settle = { _, _ in }
    host.progress = { _, _ in }
    host.cancelled = { _ in 0 }
    host.log = { _, _, _ in }
    host.repeatable = { _, _ in }
    host.reject_above = { _, _, _ in }
    host.extension = { _, name in
      switch name.map({ String(cString: $0) }) {
      case SLUICE_EXTENSION_DERIVATION: UnsafeRawPointer(FuzzHost.derivation)
      case SLUICE_EXTENSION_EXPANSION: UnsafeRawPointer(FuzzHost.expansion)
      default: nil
      }
    }
    host.checkpoint = { _, _ in }
    host.received = { _, _ in }
    return host
  }
}
