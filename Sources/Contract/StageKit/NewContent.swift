import Glibc

extension Attachment {
  /// Writes new content, which replaces the content for later stages if the stage passes.
  ///
  /// Throws a retry (`source-changed`, `unreadable`) where the content it was made from is not the one that was measured,
  /// or the system cannot take the new one (`not-written`): a stage lists these codes.
  public func replaceContent(with bytes: UnsafeRawBufferPointer) throws(Outcome) {
    try checkUnchanged()
    let descriptor = try produce()
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw .retry("not-written", "writing new content: \(String(cString: strerror(errno)))")
      }
    }
  }
}
