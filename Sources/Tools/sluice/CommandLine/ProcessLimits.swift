import CPlatform
import Pipeline

/// The system's limits for this process (getrlimit(2)). Soft limits are raised to the hard ones; if those are
/// too low for any work, a command says so instead of failing later.
enum ProcessLimits {
  private static let openFiles = 48
  private static let fileSize: Int64 = 16 << 20
  private static let addressSpace: Int64 = 1 << 30
  private static let stack: Int64 = 256 << 10

  static func check() throws(CommandError) {
    let files = Int64(sluice_raise_descriptor_limit())
    let limits: [(is: Int64, needed: Int64, what: String, option: String, systemd: String)] = [
      (files, Int64(openFiles), "have \(files) files open", "-n", "NOFILE"),
      of(sluice_raise_file_size_limit(), fileSize, "write files of", "-f", "FSIZE"),
      of(sluice_raise_address_space_limit(), addressSpace, "take", "-v", "AS"),
      of(sluice_raise_stack_limit(), stack, "have a stack of", "-s", "STACK"),
    ]
    for limit in limits where limit.is < limit.needed {
      let needed = limit.systemd == "NOFILE" ? "\(limit.needed)" : ByteSize.text(limit.needed)
      throw CommandError(
        .configuration,
        "this process may \(limit.what), and needs \(needed) at least; raise the limit, with `ulimit \(limit.option)` or "
          + "Limit\(limit.systemd)= in systemd")
    }
  }

  private static func of(
    _ bytes: Int64, _ needed: Int64, _ what: String, _ option: String, _ systemd: String
  ) -> (is: Int64, needed: Int64, what: String, option: String, systemd: String) {
    (bytes, needed, "\(what) \(ByteSize.text(bytes))", option, systemd)
  }
}
