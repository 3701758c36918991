import Glibc

/// The file that the content goes to, and how much of it counts.
struct ContentFile {
  let descriptor: Int32
  /// Bytes from its start that are written and count.
  private(set) var length: Int64
  /// Bytes of them that are known to be on disk.
  private(set) var synced: Int64

  /// A file of which so many bytes count, as an earlier attempt has told. Fewer do if it has become shorter.
  init(_ descriptor: Int32, held: Int64) {
    self.descriptor = descriptor
    var state = stat()
    let isThere = fstat(descriptor, &state) == 0 && Int64(state.st_size) >= held
    length = isThere ? held : 0
    synced = length
  }

  /// Bytes that would be lost with the power.
  var unsynced: Int64 { length - synced }

  /// Appends bytes. Returns an errno; 0: all are written.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest)
      let count = pwrite(descriptor, piece.baseAddress, piece.count, off_t(length))
      if count < 0 && errno == EINTR { continue }
      // No progress without an error is not known to happen, and must not loop.
      if count <= 0 { return count < 0 ? errno : EIO }
      rest = rest.dropFirst(count)
      length += Int64(count)
    }
    return 0
  }

  /// Whether these bytes lie in the file at an offset.
  func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { room in
      var done = 0
      while done < bytes.count {
        let count = pread(
          descriptor, room.baseAddress, min(room.count, bytes.count - done), off_t(offset) + off_t(done))
        if count < 0 && errno == EINTR { continue }
        guard count > 0, let theirs = bytes.baseAddress, let ours = room.baseAddress,
          memcmp(ours, theirs + done, count) == 0
        else { return false }
        done += count
      }
      return true
    }
  }

  /// Takes away what lies beyond a length. Returns an errno.
  mutating func cut(to length: Int64) -> Int32 {
    if ftruncate(descriptor, off_t(length)) != 0 { return errno }
    self.length = length
    synced = min(synced, length)
    return 0
  }

  /// So many bytes of it have been synced.
  mutating func note(synced bytes: Int64) {
    synced = max(synced, min(bytes, length))
  }

  /// Waits until all is on disk. Returns an errno.
  mutating func sync() -> Int32 {
    if fdatasync(descriptor) != 0 { return errno }
    synced = length
    return 0
  }
}
