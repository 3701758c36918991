/// Where a sealed value lies: table, column and row. It opens at its own place only.
public struct Place: Sendable, Equatable {
  public var table: String
  public var column: String
  public var row: Row

  /// The key of a row.
  public enum Row: Sendable, Equatable {
    case integer(Int64)
    /// A text, or bytes.
    case bytes([UInt8])

    public static func text(_ text: String) -> Row { .bytes(Array(text.utf8)) }
  }

  public init(table: String, column: String, row: Row) {
    (self.table, self.column, self.row) = (table, column, row)
  }

  public init(table: String, column: String, row: Int64) {
    self.init(table: table, column: column, row: .integer(row))
  }

  public init(table: String, column: String, row: String) {
    self.init(table: table, column: column, row: .text(row))
  }

  /// Bytes that no other place has: each part goes in with its length, and the row with its kind.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64)
    func add(_ part: some Collection<UInt8>) {
      withUnsafeBytes(of: UInt32(part.count).littleEndian) { bytes += $0 }
      bytes += part
    }
    add(table.utf8)
    add(column.utf8)
    switch row {
    case .integer(let key):
      bytes.append(1)
      withUnsafeBytes(of: key.littleEndian) { bytes += $0 }
    case .bytes(let key):
      bytes.append(2)
      add(key)
    }
    return bytes
  }
}
