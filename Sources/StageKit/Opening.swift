import Glibc

/// What a stage gets when it is opened: its options and, by capability, a folder.
public struct Opening {
  private let raw: UnsafePointer<sluice_opening>

  init(_ raw: UnsafePointer<sluice_opening>) {
    self.raw = raw
  }

  /// The stage's id in this pipeline.
  public var id: String { String(cString: raw.pointee.id) }

  /// For a `store` stage the store's folder, open as long as the instance lives; for a channel the home, open
  /// until `init` returns. Otherwise `nil`.
  public var folder: Int32? { raw.pointee.folder >= 0 ? raw.pointee.folder : nil }

  /// The value of an option, or its default.
  public subscript<Value>(_ option: Option<Value>) -> Value {
    option.read(entries(named: option.declaration.name))
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
    // A host of an earlier minor has no such function.
    guard let host = raw.pointee.host, let offset = MemoryLayout<sluice_host>.offset(of: \.repeatable),
      Int(host.pointee.size) >= offset + MemoryLayout<UnsafeRawPointer>.size
    else { return }
    host.pointee.repeatable(raw.pointee.call, basis)
  }

  /// A line on the worker's standard error: `sluice stages run` shows it, and an ingest where the worker ends badly.
  public func log(_ line: String) {
    raw.pointee.host.pointee.log(raw.pointee.call, SLUICE_LOG_INFO, line)
  }

  func explain(_ outcome: Outcome) {
    raw.pointee.host.pointee.explain(raw.pointee.call, outcome.code, outcome.message)
  }

  var host: UnsafePointer<sluice_host> { raw.pointee.host }
}
