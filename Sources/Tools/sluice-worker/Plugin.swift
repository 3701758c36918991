import CStage
import CWorker
import Glibc
import Pipeline
import Wire

/// A plugin file, loaded.
///
/// It is never unloaded: closing a library written in Swift leaves the runtime with dangling metadata.
enum Plugin {
  /// Loads a file and finds the stage in it.
  ///
  /// - Parameter major: the major the plugin is told to be asked by.
  static func load(
    file: String, id: String, major: UInt32 = SLUICE_ABI_MAJOR
  ) throws(Refusal) -> UnsafePointer<sluice_stage> {
    func refuse(_ message: String) -> Refusal { Refusal(stage: id, message: "\(file): \(message)") }
    guard let library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
      throw refuse("does not load: \(dlerror().map { String(cString: $0) } ?? "no reason given")")
    }
    sluice_note_modules()
    let symbol = String(id.map { $0 == "-" ? "_" : $0 }) + "_stage"
    guard let address = dlsym(library, symbol) else {
      throw refuse("exports no function '\(symbol)'; is it a stage, and is '\(id)' its id?")
    }
    let function = unsafeBitCast(address, to: sluice_stage_function.self)
    guard let stage = function(major) else { throw refuse("'\(symbol)' gives no description") }
    // Only these fields stand where they are in every major.
    guard stage.pointee.abi_major == SLUICE_ABI_MAJOR else {
      throw refuse(
        "is built for stage ABI \(stage.pointee.abi_major).\(stage.pointee.abi_minor), and this sluice speaks "
          + "\(SLUICE_ABI_MAJOR).\(SLUICE_ABI_MINOR); rebuild it against this version's header")
    }
    guard Int(stage.pointee.size) >= sizeOfFirst else {
      throw refuse(
        "its description has \(stage.pointee.size) bytes, and ABI \(SLUICE_ABI_MAJOR).0 has \(sizeOfFirst)")
    }
    guard let named = stage.pointee.id, String(cString: named) == id else {
      throw refuse("calls itself '\(stage.pointee.id.map { String(cString: $0) } ?? "")', not '\(id)'")
    }
    let isSource = stage.pointee.flags & SLUICE_SOURCE != 0
    if isSource && Int(stage.pointee.size) < sizeOfSource {
      throw refuse(
        "is a source whose description has \(stage.pointee.size) bytes, and one of a source has \(sizeOfSource); build it with "
          + "the header of stage ABI 1.1")
    }
    let required: [(name: String, isThere: Bool)] =
      [
        ("version", stage.pointee.version != nil), ("summary", stage.pointee.summary != nil),
        ("open", stage.pointee.open != nil), ("close", stage.pointee.close != nil),
      ]
      + (isSource
        ? [
          ("start", stage.pointee.start != nil), ("turn", stage.pointee.turn != nil),
          ("hold", stage.pointee.hold != nil), ("stop", stage.pointee.stop != nil),
        ] : [("process", stage.pointee.process != nil)])
    if let missing = required.first(where: { !$0.isThere }) {
      throw refuse("its description lacks `\(missing.name)`")
    }
    guard StageDescription.Capability(rawValue: stage.pointee.capability) != nil else {
      throw refuse("asks for capability \(stage.pointee.capability), which this version does not know")
    }
    let options = UnsafeBufferPointer(start: stage.pointee.options, count: Int(stage.pointee.option_count))
    if let strange = options.first(where: { OptionDescription.Kind(rawValue: $0.type) == nil }) {
      throw refuse(
        "its option '\(text(strange.name))' has type \(strange.type), which this version does not know; a newer sluice may"
      )
    }
    if let empty = options.first(where: { $0.minimum > $0.maximum }) {
      throw refuse(
        "its option '\(text(empty.name))' has the minimum \(empty.minimum) above its maximum \(empty.maximum), so that no value "
          + "is allowed; make the maximum as large at least (INT64_MAX: no upper bound; both 0: no bounds)")
    }
    // The folder a channel is shown is the home, with the ledger in it.
    if stage.pointee.flags & SLUICE_CHANNEL != 0 && stage.pointee.capability == SLUICE_STORE {
      throw refuse("is a channel that asks for capability store, which is for stages of the line")
    }
    if isSource && stage.pointee.capability != SLUICE_NETWORK {
      throw refuse("is a source without capability network, and could fetch nothing")
    }
    if isSource && stage.pointee.flags != SLUICE_SOURCE {
      throw refuse("is a source and something else; it can have one role")
    }
    return stage
  }

  /// The size of `sluice_stage` in minor 0, up to its last field `close`. A later field is read only where the description's
  /// size says that it is there.
  private static let sizeOfFirst = (MemoryLayout<sluice_stage>.offset(of: \.close) ?? 0) + 8
  /// Whether a stage works on many events or attachments at once: a channel, or a stage of the line that may connect.
  static func turns(_ stage: UnsafePointer<sluice_stage>) -> Bool {
    let (flags, capability) = (stage.pointee.flags, stage.pointee.capability)
    let mayTurn =
      flags & SLUICE_CHANNEL != 0
      || capability == SLUICE_NETWORK && flags & (SLUICE_AT_END | SLUICE_SOURCE) == 0
    return mayTurn && Int(stage.pointee.size) >= sizeOfSource && stage.pointee.turn != nil
  }

  /// The size of that of a source.
  private static let sizeOfSource = (MemoryLayout<sluice_stage>.offset(of: \.stop) ?? 0) + 8

  /// Bytes of address space that a plugin may take while it is only looked at.
  private static let loading: Int64 = 1 << 30

  /// Answers each question with the description of the stage in a file, or with why there is none.
  static func describe(as major: UInt32, _ files: [String], to socket: ControlSocket) -> Never {
    sluice_watch(StatusPage.map(socket))
    // A kernel that lacks a part of the sandbox is reported by the worker that is to run the plugin.
    Confinement.begin(toLoad: files)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 8)
    while let message = socket.receive(waiting: true, into: room) {
      var reader = FrameReader(UnsafeRawBufferPointer(message.bytes))
      // The coordinator is trusted: a frame that is no question ends the worker, and the coordinator says so.
      guard case .question? = try? reader.kind(), let plugin = try? PluginQuestion(&reader) else { exit(70) }
      message.bytes.deallocate()
      do throws(Refusal) {
        sluice_limit_opening(loading)
        let stage = try load(file: plugin.file, id: plugin.id, major: major)
        socket.send(description(stage, file: plugin.file).frame)
      } catch {
        socket.send(error.frame)
      }
    }
    exit(0)
  }

  private static func description(_ stage: UnsafePointer<sluice_stage>, file: String) -> StageDescription {
    let raw = stage.pointee
    var description = StageDescription(
      id: text(raw.id), version: text(raw.version), summary: text(raw.summary), file: file)
    description.abi = "\(raw.abi_major).\(raw.abi_minor)"
    description.capability = .init(rawValue: raw.capability) ?? .content
    description.role =
      if raw.flags & SLUICE_SOURCE != 0 {
        .source
      } else if raw.flags & SLUICE_CHANNEL != 0 {
        .channel
      } else {
        raw.flags & SLUICE_AT_END != 0 ? .end : .line
      }
    description.flushes = raw.flush != nil
    description.produces = raw.flags & SLUICE_PRODUCES != 0
    description.derives = raw.flags & SLUICE_DERIVES != 0
    description.expands = raw.flags & SLUICE_EXPANDS != 0
    description.turns = turns(stage)
    description.options = UnsafeBufferPointer(start: raw.options, count: Int(raw.option_count)).compactMap(
      option)
    description.keys = terms(raw.keys, raw.key_count)
    description.codes = terms(raw.codes, raw.code_count)
    return description
  }

  private static func option(_ raw: sluice_option) -> OptionDescription? {
    guard let kind = OptionDescription.Kind(rawValue: raw.type) else { return nil }
    var option = OptionDescription(
      name: text(raw.name), kind: kind, shapes: .init(rawValue: raw.shapes), help: text(raw.help))
    option.required = raw.required != 0
    option.fallback = raw.fallback.map { String(cString: $0) }
    if var next = raw.choices {
      while let choice = next.pointee {
        option.choices.append(String(cString: choice))
        next += 1
      }
    }
    // `load` refuses a plugin with a minimum above its maximum.
    let isBounded = raw.minimum != 0 || raw.maximum != 0
    if isBounded && raw.minimum <= raw.maximum { option.range = raw.minimum...raw.maximum }
    return option
  }

  private static func terms(_ start: UnsafePointer<sluice_term>?, _ count: UInt32) -> [StageDescription.Term]
  {
    UnsafeBufferPointer(start: start, count: Int(count)).map {
      .init(name: text($0.name), help: text($0.help))
    }
  }

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
  }
}
