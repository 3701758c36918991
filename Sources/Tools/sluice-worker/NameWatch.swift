import CStage
import CWorker
import Glibc

/// Notices which names a stage looks for among the options it is handed.
struct NameWatch {
  /// The name of an option that is none, which a stage is handed so that it looks at a name even if it has no options.
  static let stranger = "option-that-is-none"

  /// Names found, in order.
  ///
  /// Unchecked because stages are opened on the worker's one thread.
  private nonisolated(unsafe) static var found: [String] = []

  private let declared: Set<String>
  private let names: UnsafeMutablePointer<UnsafePointer<CChar>?>

  /// Begins to watch.
  init(_ stage: UnsafePointer<sluice_stage>, file: String, _ values: [sluice_value]) {
    declared = Set(
      UnsafeBufferPointer(start: stage.pointee.options, count: Int(stage.pointee.option_count))
        .compactMap { $0.name.map { String(cString: $0) } })
    names = .allocate(capacity: values.count)
    for (index, value) in values.enumerated() { (names + index).initialize(to: value.name) }
    Self.found = []
    sluice_watch_names(file, names, values.count) { name, length in
      guard let name else { return }
      let bytes = UnsafeRawBufferPointer(start: name, count: length)
      let text = String(decoding: bytes, as: UTF8.self)
      if NameWatch.found.count < 64, !NameWatch.found.contains(text) { NameWatch.found.append(text) }
    }
  }

  /// Ends the watch, and returns the names that the stage does not declare.
  func finish() -> [String] {
    sluice_watch_names("", nil, 0, nil)
    names.deallocate()
    return Self.found.filter { !declared.contains($0) && $0 != Self.stranger }
  }
}
