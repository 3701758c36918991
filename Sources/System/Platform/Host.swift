import Glibc

/// The machine that this process runs on.
public enum Host {
  /// Its name; empty if it cannot be read.
  public static var name: String {
    var room = [CChar](repeating: 0, count: 257)
    guard gethostname(&room, room.count - 1) == 0 else { return "" }
    return String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The kernel's boot id, a random name for each boot (random(4)); empty if it cannot be read.
  public static var kernelRun: String {
    guard let file = try? Descriptor.open("/proc/sys/kernel/random/boot_id", O_RDONLY) else { return "" }
    var text = [UInt8](repeating: 0, count: 36)
    let count = read(file.number, &text, text.count)
    return String(decoding: text.prefix(max(count, 0)), as: UTF8.self)
  }
}
