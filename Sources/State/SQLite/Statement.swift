import CSQLite

/// A prepared statement; finalized on deinitialization.
public final class Statement {
  private let handle: OpaquePointer
  /// Keeps the connection open as long as the statement lives.
  private let connection: Connection
  private let sql: String
  /// How many values it takes.
  private let parameters: Int
  /// The texts and blobs that are bound: SQLite reads them there until others are. Copies of its own would cost an allocation each.
  private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  init(_ sql: String, on connection: Connection) throws(SQLiteError) {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(
      connection.database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else { throw connection.error(sql) }
    handle = prepared
    parameters = Int(sqlite3_bind_parameter_count(prepared))
    self.connection = connection
    self.sql = sql
  }

  deinit {
    sqlite3_finalize(handle)
    room.deallocate()
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
    try rows(values, each: body)
  }

  public func rows<Failure: Error>(
    _ values: [Value], each body: (borrowing Row) throws(Failure) -> Void
  ) throws {
    try bind(values)
    defer { reset() }
    while try step() { try body(Row(handle)) }
  }

  /// The first row, converted by `make`; `nil`: there is no row.
  public func first<Result>(_ values: Value..., make: (borrowing Row) -> Result) throws(SQLiteError)
    -> Result?
  { try first(values, make: make) }

  public func first<Result>(_ values: [Value], make: (borrowing Row) -> Result) throws(SQLiteError)
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
    // For a missing value SQLite would use NULL, or the value of the last run.
    precondition(values.count == parameters, sql)
    makeRoom(for: values)
    let room = room.baseAddress.unsafelyUnwrapped
    var used = 0
    func place(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
      // An empty value needs an address, too: SQLite takes a null pointer for NULL.
      let start = room + used
      if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
      used += bytes.count
      return start
    }
    for (offset, value) in values.enumerated() {
      let index = Int32(offset + 1)
      let code: Int32
      switch value {
      case .null: code = sqlite3_bind_null(handle, index)
      case .integer(let integer): code = sqlite3_bind_int64(handle, index, integer)
      case .number(let number): code = sqlite3_bind_double(handle, index, number)
      case .text(var text):
        let (start, count) = text.withUTF8 { (place(UnsafeRawBufferPointer($0)), $0.count) }
        code = sqlite3_bind_text(
          handle, index, start.assumingMemoryBound(to: CChar.self), Int32(clamping: count), nil)
      case .blob(let bytes):
        let start = bytes.withUnsafeBytes(place)
        code = sqlite3_bind_blob(handle, index, start, Int32(clamping: bytes.count), nil)
      }
      if code != SQLITE_OK { throw connection.error(sql) }
    }
  }

  /// Makes the room large enough for these values. What was bound before is no longer in it then.
  private func makeRoom(for values: [Value]) {
    var needed = 1
    for value in values {
      switch value {
      case .text(let text): needed += text.utf8.count
      case .blob(let bytes): needed += bytes.count
      case .null, .integer, .number: break
      }
    }
    if needed <= room.count { return }
    sqlite3_clear_bindings(handle)
    room.deallocate()
    room = .allocate(byteCount: max(needed, 256), alignment: 1)
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

/// The current row of a statement, columns counted from 0. Valid until the next step.
public struct Row: ~Copyable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  public func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  public func optionalInteger(_ column: Int32) -> Int64? {
    isNull(column) ? nil : integer(column)
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
