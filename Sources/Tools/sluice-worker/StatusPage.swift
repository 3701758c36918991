import CPlatform
import Glibc
import Wire

/// The memory that the worker shares with the coordinator, see `platform.h`.
enum StatusPage {
  /// Maps it, for as long as the process lives.
  static func map(_ socket: ControlSocket) -> UnsafeMutablePointer<sluice_status> {
    let page = mmap(nil, Int(SLUICE_STATUS_SIZE), PROT_READ | PROT_WRITE, MAP_SHARED, SLUICE_FD_STATUS, 0)
    guard let page, page != MAP_FAILED else {
      socket.refuse(
        Refusal(stage: nil, message: "the status page does not map: \(String(cString: strerror(errno)))"))
    }
    close(SLUICE_FD_STATUS)
    return page.assumingMemoryBound(to: sluice_status.self)
  }
}
