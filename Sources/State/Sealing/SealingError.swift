/// Why a key cannot be had, or a value cannot be sealed or opened.
public struct SealingError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Code: Sendable, Equatable {
    /// A key is missing, not protected or no key: how the machine is set up must change. Exit code 78.
    case configuration
    /// The value was changed, moved from another place, or sealed by another home.
    case refused
    /// The value was sealed with a key that is not among those given. Exit code 78.
    case missingKey(KeyID)
    /// So many values were sealed with the key that its nonces might repeat. Exit code 78: another key is needed.
    case exhausted
    /// The value is larger than any that is sealed.
    case tooLarge
    /// The system or libcrypto failed.
    case system
  }

  public var code: Code
  /// The thing, the reason and the next step. It has no part of a key or a value.
  public var description: String

  init(_ code: Code, _ description: String) {
    (self.code, self.description) = (code, description)
  }

  /// Whether it is the configuration that must change.
  public var isConfiguration: Bool {
    switch code {
    case .configuration, .missingKey, .exhausted: true
    case .refused, .tooLarge, .system: false
    }
  }
}
