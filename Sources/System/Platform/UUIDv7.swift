import CPlatform

/// Generates ids that sort by time: UUID version 7 (RFC 9562, section 5.7), in lower case.
///
/// Within a millisecond the twelve bits after the time count up from a random start, so that one generator's
/// ids ascend.
public struct UUIDv7Generator: Sendable {
  private var last: UInt64 = 0
  private var counter: UInt16 = 0
  /// Random bytes drawn ahead: one system call per id would be most of its cost.
  private var pool: [UInt8] = []
  /// How many of these are used up.
  private var used = 0
  private let clock: Clock
  private let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

  /// - Parameters:
  ///   - clock: where the time comes from.
  ///   - fill: fills a buffer with random bytes.
  public init(
    clock: Clock = .machine,
    fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void = {
      _ = sluice_random($0.baseAddress, $0.count)
    }
  ) {
    (self.clock, self.fill) = (clock, fill)
  }

  public mutating func next() -> String {
    let now = UInt64(max(clock.now(), 0))
    if now > last {
      last = now
      counter = UInt16(random(2)) & 0x07FF
    } else if counter < 0x0FFF {
      counter += 1
    } else {
      last += 1
      counter = UInt16(random(2)) & 0x07FF
    }
    let high = last << 16 | 0x7000 | UInt64(counter)
    let low = random(8) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return UUIDText.text(high, low)
  }

  private mutating func random(_ count: Int) -> UInt64 {
    if pool.count - used < count {
      pool = [UInt8](repeating: 0, count: 4096)
      pool.withUnsafeMutableBytes(fill)
      used = 0
    }
    defer { used += count }
    return pool[used..<(used + count)].reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// UUIDs as text, in lower case.
public enum UUIDText {
  /// A UUID of version 8 (RFC 9562, section 5.8) from the first bytes of a hash.
  ///
  /// - Parameter hash: at least 16 bytes.
  public static func version8(_ hash: [UInt8]) -> String {
    let (high, low) = hash.withUnsafeBytes {
      (
        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    return text(
      high & 0xFFFF_FFFF_FFFF_0FFF | 0x8000, low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }

  static func text(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      var at = 0
      for index in 0..<32 {
        if index == 8 || index == 12 || index == 16 || index == 20 {
          buffer[at] = UInt8(ascii: "-")
          at += 1
        }
        let word = index < 16 ? high : low
        let nibble = UInt8(truncatingIfNeeded: word >> UInt64((15 - index & 15) * 4)) & 15
        buffer[at] = nibble + (nibble < 10 ? 48 : 87)
        at += 1
      }
      return 36
    }
  }
}
