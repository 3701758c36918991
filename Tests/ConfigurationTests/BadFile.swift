import Testing

/// A pipeline file that is refused, with its diagnostics.
struct BadFile: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var text: String
  /// `line:column: message; remedy` each, in order.
  var complaints: [String] = []

  /// Reads a table: each file's name after `=== `, its lines, and its diagnostics after `> `.
  ///
  /// - Parameter start: the common beginning of all files. Lines are counted after it.
  static func table(startingWith start: String = "", _ table: String) -> [BadFile] {
    var files: [BadFile] = []
    for line in table.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("=== ") {
        files.append(BadFile(testDescription: String(line.dropFirst(4)), text: start))
      } else if var file = files.popLast() {
        if line.hasPrefix("> ") {
          file.complaints.append(String(line.dropFirst(2)))
        } else if !line.isEmpty {
          file.text += line + "\n"
        }
        files.append(file)
      }
    }
    return files
  }
}
