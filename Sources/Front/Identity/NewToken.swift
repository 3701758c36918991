import Platform

/// A token that was just made: the only time that its text is known here.
public struct NewToken {
  /// What clients send. The beginning tells what it is, so that one that lies around is found.
  public let text: String

  private static let length = 32

  public init() throws(SystemError) {
    text = "sluice_" + Hexadecimal.text(try SystemRandom.bytes(Self.length))
  }

  /// What is kept of it.
  public func hash() throws(SystemError) -> [UInt8] {
    let hash = try SHA256()
    hash.begin()
    Array(text.utf8).withUnsafeBytes { hash.add($0) }
    return hash.finish()
  }
}
