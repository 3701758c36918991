import Pipeline

/// Codes of reasons with commas between them, as commands and requests name them.
public struct CodeList: Sendable, Equatable {
  public let codes: Set<String>

  /// Why a text is none.
  public enum Fault: Error, Equatable {
    /// One of its elements is.
    case empty
    /// No code has the characters of this element.
    case impossible(String)
  }

  /// Reads `too-large,encrypted`.
  public init(_ text: String) throws(Fault) {
    var codes: Set<String> = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      if word.isEmpty { throw .empty }
      guard PlainName.isOne(String(word)) else { throw .impossible(String(word)) }
      codes.insert(String(word))
    }
    self.codes = codes
  }
}
