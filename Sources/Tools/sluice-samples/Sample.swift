/// One attachment to write: its name, what it is for, and how its bytes are made.
struct Sample {
  /// Bytes that depend on nothing but the program: no clock, no randomness, no locale.
  typealias Content = () throws -> [UInt8]

  let fileName: String
  let purpose: String
  let content: Content

  init(_ fileName: String, _ purpose: String, content: @escaping Content) {
    self.fileName = fileName
    self.purpose = purpose
    self.content = content
  }
}

/// Plain text under the name of a document: the name and the content disagree.
func shellScript() -> [UInt8] {
  Array(
    """
    #!/bin/sh
    # Not a PDF, whatever the file name says.
    echo "Thank you for paying invoice 4711."

    """.utf8)
}
