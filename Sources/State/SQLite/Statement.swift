import CSQLite

/// A prepared statement; finalized on deinitialization.
public final class Statement {
  private let handle: OpaquePointer
  /// Keeps the connection open as long as the statement lives.
  private let connection: Connection
  private let sql: String

  init(_ sql: String, on connection: Connection) throws(SQLiteError) {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(
      connection.database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else { throw connection.error(sql) }
    handle = prepared
    self.connection = connection
    self.sql = sql
  }

  deinit {
    sqlite3_finalize(handle)
  }

  /// Binds these values and runs the statement to its end.
  public func run(_ values: Value...) throws(SQLiteError) {
    try run(values)
  }

  public func run(_ values: [Value]) throws(SQLiteError) {
    try bind(values)
    defer { reset() }
    while try step() {}
  }

  /// Binds these values and passes each row to `body`.
  public func rows<Failure: Error>(
    _ values: Value..., each body: (borrowing Row) throws(Failure) -> Void
  ) throws {
    try bind(values)
    defer { reset() }
    while try step() { try body(Row(handle)) }
  }

  /// The first row, converted by `make`; `nil`: there is no row.
  public func first<Result>(_ values: Value..., make: (borrowing Row) -> Result) throws(SQLiteError)
    -> Result?
  {
    try bind(values)
    defer { reset() }
    return try step() ? make(Row(handle)) : nil
  }

  /// A value to bind.
  public enum Value: Sendable {
    case null
    case integer(Int64)
    case number(Double)
    case text(String)
    case blob([UInt8])

    public static func optional(_ text: String?) -> Value { text.map { .text($0) } ?? .null }
    public static func optional(_ bytes: [UInt8]?) -> Value { bytes.map { .blob($0) } ?? .null }
    public static func optional(_ integer: Int64?) -> Value { integer.map { .integer($0) } ?? .null }
  }

  private func bind(_ values: [Value]) throws(SQLiteError) {
    for (offset, value) in values.enumerated() {
      let index = Int32(offset + 1)
      let code: Int32
      switch value {
      case .null: code = sqlite3_bind_null(handle, index)
      case .integer(let integer): code = sqlite3_bind_int64(handle, index, integer)
      case .number(let number): code = sqlite3_bind_double(handle, index, number)
      case .text(var text):
        code = text.withUTF8 { bytes in
          bytes.withMemoryRebound(to: CChar.self) {
            // An empty text has no address, and SQLite takes a null pointer for NULL.
            sluice_sqlite_bind_text(handle, index, $0.baseAddress ?? emptyText, Int32(clamping: $0.count))
          }
        }
      case .blob(let bytes):
        code = bytes.withUnsafeBytes {
          sluice_sqlite_bind_blob(
            handle, index, $0.baseAddress ?? UnsafeRawPointer(emptyText), Int32(clamping: $0.count))
        }
      }
      if code != SQLITE_OK { throw connection.error(sql) }
    }
  }

  private func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw connection.error(sql)
    }
  }

  private func reset() {
    sqlite3_reset(handle)
  }
}

/// Allocated once and never freed.
private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
  let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  text.pointee = 0
  return UnsafePointer(text)
}()

/// The current row of a statement, columns counted from 0. Valid until the next step.
public struct Row: ~Copyable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  public func optionalInteger(_ column: Int32) -> Int64? {
    sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : integer(column)
  }

  /// A text; empty where it is NULL. Bytes that are not UTF-8 become U+FFFD.
  public func text(_ column: Int32) -> String { optionalText(column) ?? "" }

  public func optionalText(_ column: Int32) -> String? {
    guard let text = sqlite3_column_text(handle, column) else { return nil }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
  }

  public func blob(_ column: Int32) -> [UInt8] {
    let bytes = sqlite3_column_blob(handle, column)
    let count = Int(sqlite3_column_bytes(handle, column))
    return [UInt8](UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
  }
}
