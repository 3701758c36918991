import CPlatform

/// Random bytes from the kernel (getrandom(2)).
public enum SystemRandom {
  /// Fills a buffer, waiting until the kernel has gathered enough after its start.
  public static func fill(_ room: UnsafeMutableRawBufferPointer) throws(SystemError) {
    if room.isEmpty { return }
    if sluice_random(room.baseAddress, room.count) != 0 { throw SystemError("asking for random bytes") }
  }

  /// So many random bytes.
  public static func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(SystemError) {
        try fill(UnsafeMutableRawBufferPointer(buffer))
        filled = count
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
