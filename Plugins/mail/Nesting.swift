import CGMime
import StageKit

/// Boundaries of parts that lie in others (RFC 2046, section 5.1.2: each is to differ from those around it). Where one does not, one
/// program ends the outer part where another goes on with the inner one.
enum Nesting {
  /// GMime would make one up where there is none, of random numbers that the sandbox has not.
  static func boundary(of multipart: UnsafeMutablePointer<GMimeObject>) -> [UInt8]? {
    text(g_mime_object_get_content_type_parameter(multipart, "boundary")).map { Array($0.utf8) }
  }

  static func check(_ boundary: [UInt8]?, within others: [[UInt8]]) throws(Outcome) {
    if let boundary, others.contains(boundary) {
      throw .reject("damaged", "a part of it has the boundary of the part that it lies in")
    }
  }

  /// Checks the parts of a mail in a mail, which becomes a content that ends where a boundary around it stands: all of them, for only
  /// here those around it are known.
  static func check(
    messageIn part: UnsafeMutablePointer<GMimeObject>, within others: [[UInt8]]
  ) throws(Outcome) {
    var open = [part]
    while let part = open.popLast() {
      if sluice_is_message_part(part) != 0 {
        let message = g_mime_message_part_get_message(sluice_message_part(part))
        if let root = message.flatMap({ g_mime_message_get_mime_part($0) }) { open.append(root) }
      } else if sluice_is_multipart(part) != 0, let multipart = sluice_multipart(part) {
        try check(boundary(of: part), within: others)
        for index in 0..<max(g_mime_multipart_get_count(multipart), 0) {
          if let part = g_mime_multipart_get_part(multipart, index) { open.append(part) }
        }
      }
    }
  }
}
