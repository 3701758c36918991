import CSQLite

// Bytes of deleted rows in the file.
extension Connection {
  /// Pages that are read at once.
  private static let chunk = 64

  /// From this many pages on, the first byte of a page with the rest of a long value, or of one in the list of free pages, can be that
  /// of a b-tree's: it is part of a page's number. With pages of 4 KiB that is a file of 128 GiB.
  private static let mostPages: Int64 = 1 << 25

  /// Overwrites what deleted rows have left in the file, in the pages where they are. Only a connection with `secure_delete` may do so
  /// that alone writes and checkpoints, outside of a transaction.
  ///
  /// Nothing that any statement can read is changed: so readers are not held up, and any part of it is on disk after a power
  /// failure, the file is sound. `VACUUM` does the same by writing all of the file twice; it is left for files that are too large.
  ///
  /// - Returns: false where it is not done: a reader is in the way, or the file cannot be read or written.
  public func eraseResidue() throws(SQLiteError) -> Bool {
    guard isOutsideTransaction, truncateLog() else { return false }
    guard let file = sluice_sqlite_file(database) else { return true }
    // What is in memory is as the file was, and would be written back with the next change of its page.
    defer { sqlite3_db_release_memory(database) }
    guard let header = read(file, at: 0, count: Self.headerLength) else { return false }
    let pageSize = header[16] == 0 && header[17] == 1 ? 65_536 : Int(header[16]) << 8 | Int(header[17])
    let usable = pageSize - Int(header[20])
    var bytes: sqlite3_int64 = 0
    guard pageSize >= 512, file.pointee.pMethods.pointee.xFileSize(file, &bytes) == SQLITE_OK else {
      return false
    }
    let pages = bytes / Int64(pageSize)
    guard pages < Self.mostPages else {
      try execute("VACUUM")
      return truncateLog()
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunk * pageSize, alignment: 8)
    defer { buffer.deallocate() }
    for first in stride(from: 0, to: pages, by: Self.chunk) {
      let count = min(Self.chunk, Int(pages - first))
      let offset = first * Int64(pageSize)
      guard Self.read(file, into: buffer[..<(count * pageSize)], at: offset) else { return false }
      for index in 0..<count {
        let place = index * pageSize
        let page = UnsafeMutableRawBufferPointer(rebasing: buffer[place..<place + pageSize])
        guard BTreePage.erase(page, isFirst: first + Int64(index) == 0, usable: usable) else { continue }
        let code = file.pointee.pMethods.pointee.xWrite(
          file, page.baseAddress, Int32(pageSize), offset + Int64(place))
        if code != SQLITE_OK { return false }
      }
    }
    return file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK
  }

  private static let headerLength = 100

  private func read(_ file: UnsafeMutablePointer<sqlite3_file>, at offset: Int64, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    let isRead = bytes.withUnsafeMutableBytes { Self.read(file, into: $0[...], at: offset) }
    return isRead ? bytes : nil
  }

  private static func read(
    _ file: UnsafeMutablePointer<sqlite3_file>, into buffer: Slice<UnsafeMutableRawBufferPointer>,
    at offset: Int64
  ) -> Bool {
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer)
    return file.pointee.pMethods.pointee.xRead(file, part.baseAddress, Int32(part.count), offset) == SQLITE_OK
  }
}
