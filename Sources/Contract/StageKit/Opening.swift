import Glibc

/// What a stage gets when it is opened: its options and, by capability, a folder.
public struct Opening {
  private let raw: UnsafePointer<sluice_opening>
  private let declared: [String]
  private let reads = Reads()

  /// What was read. A class, since `init` of a stage gets a copy of the opening.
  private final class Reads {
    var undeclared: [String] = []
  }

  /// - Parameter declared: the names of the stage's options.
  init(_ raw: UnsafePointer<sluice_opening>, declared: [String]) {
    self.raw = raw
    self.declared = declared
  }

  /// The first option that was read and is not among the stage's options. It would have its default for ever,
  /// and a pipeline could not change that. So the host is told not to open the stage.
  var undeclared: String? { reads.undeclared.first }

  /// The stage's id in this pipeline.
  public var id: String { String(cString: raw.pointee.id) }

  /// The minor of the contract that the host has, as far as this kit knows minors. What a host of an older minor lacks does
  /// nothing: a stage that cannot do without throws ``Outcome/fail(_:_:)``.
  public var hostMinor: UInt32 { has(\.reject_above) ? 1 : 0 }

  /// For a `store` stage the store's folder, open as long as the instance lives; for a channel the home, open
  /// until `init` returns. Otherwise `nil`.
  public var folder: Int32? { raw.pointee.folder >= 0 ? raw.pointee.folder : nil }

  /// The value of an option, or its default. The stage does not open if ``Stage/options`` does not list the option.
  public subscript<Value>(_ option: Option<Value>) -> Value {
    let name = option.declaration.name
    if !declared.contains(name) { reads.undeclared.append(name) }
    return option.read(entries(named: name))
  }

  private func entries(named name: String) -> [Entry] {
    UnsafeBufferPointer(start: raw.pointee.values, count: Int(raw.pointee.value_count))
      .filter { String(cString: $0.name) == name }
      .map {
        Entry(
          pattern: $0.key.map { String(cString: $0) }, text: String(cString: $0.text), integer: $0.integer,
          number: $0.number)
      }
  }

  /// A promise that what the stage says and records follows from nothing but the content, the options, the media type so far,
  /// and what the sender declared: the type, and the extension of the file name. Then the host may hand on what it said of
  /// equal content.
  ///
  /// - Parameter basis: what else it rests on, such as the versions of libraries and of data, in up to 1024 bytes: what was
  ///   said on another basis does not count.
  public func repeatable(on basis: String) {
    guard has(\.repeatable) else { return }
    host.pointee.repeatable(raw.pointee.call, basis)
  }

  /// A promise that all content of more than so many bytes is rejected with this code. Then the host may
  /// reject it by its length, before a byte is read. A stage with `when` is not held to it.
  public func rejects(above bytes: Int64, code: String) {
    guard has(\.reject_above) else { return }
    host.pointee.reject_above(raw.pointee.call, UInt64(max(bytes, 0)), code)
  }

  /// A way to one Unix socket for a stage with capability network, as `sluice_door` of the contract says; `nil`: errno says why
  /// there is none. The stage closes it.
  public func door(to path: String) -> Int32? {
    guard let table = extensionTable(SLUICE_EXTENSION_DOOR, of: sluice_door.self) else {
      errno = ENOSYS
      return nil
    }
    let door = table.pointee.open(raw.pointee.call, path)
    return door >= 0 ? door : nil
  }

  /// A table of functions that not every host has; `nil`: this one has none of that name, or a shorter one.
  private func extensionTable<Table>(_ name: String, of type: Table.Type) -> UnsafePointer<Table>? {
    guard has(\.extension), let table = host.pointee.extension(raw.pointee.call, name) else { return nil }
    let size = table.load(as: UInt32.self)
    return size >= UInt32(MemoryLayout<Table>.size) ? table.assumingMemoryBound(to: type) : nil
  }

  /// Whether the host is of a minor that has a function.
  private func has<Function>(_ function: KeyPath<sluice_host, Function>) -> Bool {
    guard let offset = MemoryLayout<sluice_host>.offset(of: function) else { return false }
    return Int(host.pointee.size) >= offset + MemoryLayout<UnsafeRawPointer>.size
  }

  /// A line on the worker's standard error: `sluice stages run` shows it, and an ingest if the worker ends badly.
  public func log(_ level: LogLevel = .info, _ line: String) {
    raw.pointee.host.pointee.log(raw.pointee.call, level.rawValue, line)
  }

  func explain(_ outcome: Outcome) {
    raw.pointee.host.pointee.explain(raw.pointee.call, outcome.code, outcome.message)
  }

  var host: UnsafePointer<sluice_host> { raw.pointee.host }
}
