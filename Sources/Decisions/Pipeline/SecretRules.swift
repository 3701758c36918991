/// Where the keys lie that seal what is secret, each as `credential:NAME`, `file:/path` or `env:NAME`.
public struct SecretRules: Sendable, Equatable {
  /// The key that seals; `nil`: that of the home.
  public var key: String?
  /// Keys that only open what they sealed.
  public var old: [String] = []

  public init() {}
}
