import Pipeline
import Platform

/// The columns of a table for metadata: one for each key, and one for the rest.
///
/// A million attachments have the same few keys, mostly in the same order. So a key is compared with the one that was in its place
/// before, and looked up only where it is another.
struct MetadataColumns {
  /// Keys that get a column; what has another is in the last.
  private static let most = 200

  private var places: [String: Int] = [:]
  /// By their place in the metadata that was read last.
  private var before: [(key: [UInt8], place: Int)] = []
  private var flat = FlatJSON()
  /// What a row has for each column.
  private var cells: [FlatJSON.Member?] = []

  // MARK: The keys

  /// Whether there are as many keys as get a column.
  var isFull: Bool { places.count >= Self.most }

  /// Notes the keys of an attachment's metadata.
  mutating func note(_ metadata: String) {
    var metadata = metadata
    let isFlat = metadata.withUTF8 { bytes in
      guard flat.read(bytes) else { return false }
      for (index, member) in flat.members.enumerated() where !isAsBefore(bytes[member.key], index) {
        let key = String(decoding: bytes[member.key], as: UTF8.self)
        places[key] = places[key] ?? places.count
        remember(bytes[member.key], index, 0)
      }
      return true
    }
    if isFlat { return }
    for (key, _) in JSONMembers.read(metadata) ?? [] { places[key] = places[key] ?? places.count }
  }

  /// Ends the noting. Returns the names of the columns, in their order.
  mutating func finish() -> [String] {
    let keys = places.keys.sorted().prefix(Self.most)
    places = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($0.element, $0.offset) })
    before.removeAll()
    return keys.map { "metadata.\($0)" } + ["otherMetadata"]
  }

  private func isAsBefore(_ key: Slice<UnsafeBufferPointer<UInt8>>, _ index: Int) -> Bool {
    index < before.count && before[index].key.elementsEqual(key)
  }

  private mutating func remember(_ key: Slice<UnsafeBufferPointer<UInt8>>, _ index: Int, _ place: Int) {
    let known = (key: [UInt8](key), place: place)
    if index < before.count { before[index] = known } else { before.append(known) }
  }

  // MARK: Rows

  /// Adds an attachment's metadata to its row. What has a key without a column, such as that of an attachment which has ended
  /// since the keys were noted, is in the last column as JSON.
  mutating func add(_ metadata: String, to csv: inout CSV) {
    var metadata = metadata
    let isDone = metadata.withUTF8 { bytes in
      guard sort(bytes) else { return false }
      for cell in cells {
        guard let cell else {
          csv.add(nil)
          continue
        }
        let value = UnsafeBufferPointer(rebasing: bytes[cell.value])
        if cell.isText { csv.add(text: value) } else { csv.add(number: value) }
      }
      csv.add(nil)
      return true
    }
    if !isDone { addSlowly(metadata, &csv) }
  }

  /// Finds the column of each member. False: one has none, or the metadata is not as this program mostly writes it.
  private mutating func sort(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard flat.read(bytes) else { return false }
    cells.removeAll(keepingCapacity: true)
    for _ in 0..<places.count { cells.append(nil) }
    for (index, member) in flat.members.enumerated() {
      if !isAsBefore(bytes[member.key], index) {
        guard let place = places[String(decoding: bytes[member.key], as: UTF8.self)], index <= before.count
        else { return false }
        remember(bytes[member.key], index, place)
      }
      if cells[before[index].place] != nil { return false }
      cells[before[index].place] = member
    }
    return true
  }

  private func addSlowly(_ text: String, _ csv: inout CSV) {
    var cells = [JSONMembers.Value?](repeating: nil, count: places.count)
    var rest: [Metadatum] = []
    let members = JSONMembers.read(text)
    for (key, value) in members ?? [] {
      if let place = places[key], cells[place] == nil {
        cells[place] = value
      } else {
        rest.append(Self.metadatum(key, value))
      }
    }
    for cell in cells {
      switch cell {
      case nil: csv.add(nil)
      case .text(let text)?: csv.add(text)
      case .integer(let integer)?: csv.add(number: String(integer))
      case .number(let number)?: csv.add(number: "\(number)")
      case .boolean(let boolean)?: csv.add(number: boolean ? "true" : "false")
      }
    }
    csv.add(members == nil ? text : rest.isEmpty ? nil : JSONWriter.object(of: rest))
  }

  private static func metadatum(_ key: String, _ value: JSONMembers.Value) -> Metadatum {
    switch value {
    case .text(let text): Metadatum(key: key, value: .text(text))
    case .integer(let integer): Metadatum(key: key, value: .integer(integer))
    case .number(let number): Metadatum(key: key, value: .number(number))
    case .boolean(let boolean): Metadatum(key: key, value: .boolean(boolean))
    }
  }
}
