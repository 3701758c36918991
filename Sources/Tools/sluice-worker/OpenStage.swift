import CStage
import CWorker
import Glibc
import Pipeline
import Wire

/// A stage with its instance, as long as the process.
final class OpenStage {
  let definition: StageDefinition
  let raw: UnsafePointer<sluice_stage>
  private(set) var instance: UnsafeMutableRawPointer?
  /// What its words rest on, where it promises to say the same of equal content.
  private(set) var basis: String?
  /// What it rejects for its length alone, where it promises to.
  private(set) var lengthLimit: LengthLimit?
  private let keys: Set<String>
  private let prefixes: [String]
  private let codes: Set<String>
  /// The template that it last had expanded: mostly it is the same.
  private var lastTemplate: PathTemplate?

  /// Bytes of address space for the libraries that a plugin loads, beside what the stage may allocate.
  private static let libraries: Int64 = 512 << 20

  var flushes: Bool { raw.pointee.flush != nil }
  var turns: Bool { Plugin.turns(raw) }
  var isSource: Bool { raw.pointee.flags & SLUICE_SOURCE != 0 }

  /// A template for paths; `nil`: the text is none.
  func template(_ text: String) -> PathTemplate? {
    // By bytes: to Swift, texts are equal that the file system tells apart.
    if let lastTemplate, lastTemplate.description.utf8.elementsEqual(text.utf8) { return lastTemplate }
    lastTemplate = PathTemplate(text)
    return lastTemplate
  }

  /// Loads the plugin and makes an instance.
  ///
  /// - Parameter folder: for those that may have one: the store's, or for a channel the home.
  init(
    _ definition: StageDefinition, folder: Int32, host: UnsafePointer<sluice_host>, tracer: Tracer? = nil,
    watchesNames: Bool = false
  ) throws(Refusal) {
    self.definition = definition
    sluice_limit_opening(Self.libraries + definition.memory)
    raw =
      if let program = definition.description.program {
        ProgramStage.make(definition, program)
      } else {
        try Plugin.load(file: definition.description.file, id: definition.description.id)
      }
    let names = UnsafeBufferPointer(start: raw.pointee.keys, count: Int(raw.pointee.key_count))
      .compactMap { $0.name.map { String(cString: $0) } }
    keys = Set(names)
    prefixes = names.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
    codes = Set(
      UnsafeBufferPointer(start: raw.pointee.codes, count: Int(raw.pointee.code_count))
        .compactMap { $0.name.map { String(cString: $0) } })

    let arena = Arena()
    // A program is not watched: what it looks for it does in its own process.
    let watchesNames = watchesNames && definition.description.program == nil
    let stranger = watchesNames ? [OptionValue(name: NameWatch.stranger, text: "")] : []
    let values = (definition.values + stranger).map { value in
      sluice_value(
        size: UInt32(MemoryLayout<sluice_value>.size), reserved: 0, name: arena.keep(value.name),
        key: value.key.map { arena.keep($0) }, text: arena.keep(value.text), integer: value.integer,
        number: value.number)
    }
    let call = Call(stage: self, tracer: tracer)
    let mayHaveFolder = raw.pointee.capability == SLUICE_STORE || raw.pointee.flags & SLUICE_CHANNEL != 0
    var made: UnsafeMutableRawPointer?
    let watch = watchesNames ? NameWatch(raw, file: definition.description.file, values) : nil
    let verdict = values.withUnsafeBufferPointer { values in
      var opening = sluice_opening(
        size: UInt32(MemoryLayout<sluice_opening>.size), value_count: UInt32(values.count),
        id: arena.keep(definition.id), values: values.baseAddress, host: host, call: call.handle,
        folder: mayHaveFolder ? folder : -1, reserved: 0)
      return raw.pointee.open(raw, &opening, &made)
    }
    sluice_note_modules()  // it may have loaded libraries
    for name in watch?.finish() ?? [] {
      call.complain("looks for an option '\(name)', which its description does not list")
    }
    call.trace("open", "-> \(Verdict(rawValue: verdict)?.name ?? "verdict \(verdict)")")
    guard verdict == SLUICE_PASS else {
      throw Refusal(stage: definition.id, message: call.explanation.message ?? "the stage does not open")
    }
    instance = made
    basis = call.basis
    lengthLimit = call.lengthLimit
  }

  /// Ends the instance.
  func close() {
    raw.pointee.close(instance)
    instance = nil
  }

  /// Whether the description lists this key of metadata.
  func declares(key: String) -> Bool { keys.contains(key) || prefixes.contains { key.hasPrefix($0) } }

  func declares(code: String) -> Bool { codes.contains(code) }
}

/// Text for C that lives as long as this does.
final class Arena {
  private var copies: [UnsafeMutablePointer<CChar>] = []

  func keep(_ text: String) -> UnsafePointer<CChar> {
    text.utf8CString.withUnsafeBufferPointer { bytes in
      let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
      for (index, byte) in bytes.enumerated() { copy[index] = byte }
      copies.append(copy)
      return UnsafePointer(copy)
    }
  }

  deinit {
    for copy in copies { copy.deallocate() }
  }
}
