import Glibc
import Platform
import Synchronization

/// Slows down the guessing of passwords, by account, by address, and by both together. All threads use it.
///
/// Each try fills leaky buckets. Guesses from one address fill the bucket of that address and account first, so that the person can
/// still sign in from another address.
final class SignInTries: Sendable {
  private struct Bucket {
    var level: Double
    /// In nanoseconds of the monotonic clock.
    var at: UInt64
  }

  /// Tries at once, and seconds until there is room for one more.
  private struct Size {
    var most: Double
    var seconds: Double
  }

  private static let (ofAddress, ofAccount, ofBoth) = (
    Size(most: 100, seconds: 3), Size(most: 100, seconds: 30), Size(most: 10, seconds: 30)
  )
  private static let mostBuckets = 100_000

  private let buckets = Mutex<[String: Bucket]>([:])

  /// Counts a try.
  ///
  /// - Parameters:
  ///   - account: `nil`: a sign-up.
  ///   - address: empty: it is not known.
  /// - Returns: seconds to wait, and it is not counted; `nil`: it may be done.
  func begin(account: String?, address: String, at now: UInt64 = Clock.monotonic()) -> Int? {
    let keys = Self.keys(account, address)
    return buckets.withLock { buckets in
      var wait = 0.0
      for (key, size) in keys {
        let level = Self.level(buckets[key], size, now)
        if level > size.most - 1 { wait = max(wait, (level + 1 - size.most) * size.seconds) }
      }
      if wait > 0 { return Int(wait.rounded(.up)) }
      if buckets.count > Self.mostBuckets {
        // Under an attack from many addresses, the limits of accounts stay.
        buckets = buckets.filter { now - $0.value.at < 3_600_000_000_000 }
        if buckets.count > Self.mostBuckets { buckets = buckets.filter { $0.key.hasPrefix("account ") } }
      }
      for (key, size) in keys {
        buckets[key] = Bucket(level: Self.level(buckets[key], size, now) + 1, at: now)
      }
      return nil
    }
  }

  /// The try was right: it does not count.
  func forgive(account: String, address: String) {
    buckets.withLock { buckets in
      for (key, _) in Self.keys(account, address) {
        if let level = buckets[key]?.level { buckets[key]?.level = max(level - 1, 0) }
      }
    }
  }

  private static func level(_ bucket: Bucket?, _ size: Size, _ now: UInt64) -> Double {
    guard let bucket else { return 0 }
    return max(bucket.level - Double(now - min(bucket.at, now)) / 1e9 / size.seconds, 0)
  }

  private static func keys(_ account: String?, _ address: String) -> [(String, Size)] {
    let place = network(address)
    var keys: [(String, Size)] = []
    if let account { keys.append(("account " + account, ofAccount)) }
    if !place.isEmpty { keys.append(("address " + place, ofAddress)) }
    if let account, !place.isEmpty { keys.append(("both \(place) \(account)", ofBoth)) }
    return keys
  }

  /// IPv4 by its address, IPv6 by its /64.
  private static func network(_ address: String) -> String {
    var bytes = in6_addr()
    guard inet_pton(AF_INET6, address, &bytes) == 1 else { return address }
    return withUnsafeBytes(of: bytes) { bytes in
      let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
      return Hexadecimal.text(Array(isMapped ? bytes[12...] : bytes[..<8]))
    }
  }
}
