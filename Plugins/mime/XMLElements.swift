import CExpat
import StageKit

/// The elements of an XML document as it comes, with names as `namespace|name`.
///
/// Entities of the document are followed within expat's limits, and nothing outside the document is read.
final class XMLElements {
  /// Attributes by `namespace|name`, or by their name alone where they have no namespace.
  typealias Element = (_ name: String, _ attribute: (String) -> String?) -> Bool

  private let parser: XML_Parser
  private let element: Element
  private(set) var isStopped = false

  /// - Parameter element: is told of each element that begins, until it answers `false`.
  init?(_ element: @escaping Element) {
    guard let parser = XML_ParserCreateNS(nil, CChar(UInt8(ascii: "|"))) else { return nil }
    self.parser = parser
    self.element = element
    // Without a salt, expat asks the system for one.
    XML_SetHashSalt(parser, Self.salt)
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetStartElementHandler(parser) { data, name, attributes in
      guard let data, let name else { return }
      Unmanaged<XMLElements>.fromOpaque(data).takeUnretainedValue().begin(name, attributes)
    }
  }

  deinit {
    XML_ParserFree(parser)
  }

  /// Returns whether there may be more elements: `false` behind a fault, and where the reader has enough.
  func read(_ piece: UnsafeRawBufferPointer) -> Bool {
    let start = piece.bindMemory(to: CChar.self).baseAddress
    return XML_Parse(parser, start, Int32(clamping: piece.count), 0) == XML_STATUS_OK && !isStopped
  }

  private func begin(
    _ name: UnsafePointer<CChar>, _ attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?
  ) {
    let more = element(String(cString: name)) { wanted in
      var next = attributes
      while let key = next?[0], let value = next?[1] {
        if String(cString: key) == wanted { return String(cString: value) }
        next = next.map { $0 + 2 }
      }
      return nil
    }
    if more { return }
    isStopped = true
    XML_StopParser(parser, 0)
  }

  private static let salt = UInt.random(in: 1...UInt.max)
}
