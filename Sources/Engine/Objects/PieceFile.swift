import CPlatform
import Glibc
import Platform

/// A file in memory with what stages have written beside a content, which no worker can change any more. Its memory goes with it.
public final class PieceFile: Sendable {
  /// To read from.
  public let descriptor: Int32
  private let memory: Int32
  /// In bytes.
  public let size: Int64

  /// Takes over what a worker has written, and frees the memory of that.
  ///
  /// - Parameter output: the file that the worker wrote.
  public init(takingOver output: Int32) throws(SystemError) {
    memory = sluice_memfd("sluice-pieces", 1)
    if memory < 0 { throw SystemError("making room for what stages derive") }
    descriptor = sluice_move_content(output, memory)
    var facts = stat()
    if descriptor < 0 || fstat(descriptor, &facts) != 0 {
      let error = SystemError("taking over what a stage has derived")
      sluice_empty(memory)
      close(memory)
      if descriptor >= 0 { close(descriptor) }
      throw error
    }
    size = Int64(facts.st_size)
  }

  deinit {
    close(descriptor)
    sluice_empty(memory)
    close(memory)
  }
}
