import LedgerPort
import Pipeline
import Wire

// A file that is handed over, and what became of it, in messages between client and coordinator.

// MARK: - What became of a file

extension FrameWriter {
  /// What an outcome is, before the id.
  enum Outcome: UInt8 {
    case added = 1, known, deleted, refused
  }

  mutating func write(_ outcome: IntakeOutcome) {
    switch outcome {
    case .added(let id):
      write(Outcome.added.rawValue)
      write(id)
    case .known(let id):
      write(Outcome.known.rawValue)
      write(id)
    case .deleted(let id):
      write(Outcome.deleted.rawValue)
      write(id)
    case .refused: write(Outcome.refused.rawValue)
    }
  }
}

extension FrameReader {
  mutating func outcome() throws(FrameError) -> IntakeOutcome {
    switch FrameWriter.Outcome(rawValue: try integer(UInt8.self)) {
    case .added: return .added(id: try requiredText(atMost: ControlMessage.limit))
    case .known: return .known(id: try requiredText(atMost: ControlMessage.limit))
    case .deleted: return .deleted(id: try requiredText(atMost: ControlMessage.limit))
    case .refused: return .refused
    case nil: throw FrameError("an unknown outcome")
    }
  }
}

// MARK: - The fields of a file

extension FrameWriter: IntakeVisitor {
  package mutating func visit(_ field: IntakeField, _ value: inout String) { write(value) }
  package mutating func visit(_ field: IntakeField, _ value: inout String?) { write(value) }
  package mutating func visit(_ field: IntakeField, _ value: inout [String]) { write(value) { $0.write($1) } }
  package mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) {
    value.withUnsafeBytes { write($0) }
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64) { write(value) }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64?) {
    write(value != nil)
    write(value ?? 0)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Bool) { write(value) }
}

extension FrameReader: IntakeVisitor {
  package mutating func visit(_ field: IntakeField, _ value: inout String) throws(FrameError) {
    value = try requiredText(atMost: ControlMessage.limit)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout String?) throws(FrameError) {
    value = try text(atMost: ControlMessage.limit)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout [String]) throws(FrameError) {
    value = try elements(atMost: ControlMessage.limit) { (reader) throws(FrameError) in
      try reader.requiredText(atMost: ControlMessage.limit)
    }
  }
  package mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) throws(FrameError) {
    guard let bytes = try textBytes() else { throw FrameError("'\(field.name)' is missing") }
    value = [UInt8](bytes)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64) throws(FrameError) {
    value = try integer(Int64.self)
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Int64?) throws(FrameError) {
    let isThere = try boolean()
    let number = try integer(Int64.self)
    value = isThere ? number : nil
  }
  package mutating func visit(_ field: IntakeField, _ value: inout Bool) throws(FrameError) {
    value = try boolean()
  }
}

/// Adds up what fields take in a message.
struct FieldSizes: IntakeVisitor {
  var bytes = 0

  mutating func add(_ count: Int) { bytes += count + FrameWriter.textOverhead }
  mutating func visit(_ field: IntakeField, _ value: inout String) { add(value.utf8.count) }
  mutating func visit(_ field: IntakeField, _ value: inout String?) { add(value?.utf8.count ?? 0) }
  mutating func visit(_ field: IntakeField, _ value: inout [String]) {
    add(0)
    for text in value { add(text.utf8.count) }
  }
  mutating func visit(_ field: IntakeField, _ value: inout [UInt8]) { add(value.count) }
  mutating func visit(_ field: IntakeField, _ value: inout Int64) { bytes += 8 }
  mutating func visit(_ field: IntakeField, _ value: inout Int64?) { bytes += 9 }
  mutating func visit(_ field: IntakeField, _ value: inout Bool) { bytes += 1 }
}
