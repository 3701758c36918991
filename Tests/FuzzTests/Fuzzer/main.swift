import CFuzzer
import Glibc

// sluice-fuzz TARGET [libFuzzer options]; without a target, it lists the targets and the longest input of
// each.

/// Chosen once, before the first input.
nonisolated(unsafe) private var chosen: FuzzTarget?

private func runOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  do {
    try chosen?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
  } catch {
    // libFuzzer saves the input of a process that aborts.
    print("VIOLATION: \(error)")
    fflush(nil)
    abort()
  }
  return 0
}

chosen = FuzzTarget.all.first { $0.name == CommandLine.arguments.dropFirst().first }
guard chosen != nil else {
  for target in FuzzTarget.all { print(target.name, target.longest) }
  exit(CommandLine.arguments.count == 1 ? 0 : 2)
}
var arguments = CommandLine.unsafeArgv + 1
var rest: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = arguments
var count = CommandLine.argc - 1
exit(LLVMFuzzerRunDriver(&count, &rest, runOne))

/// libFuzzer's own main needs this symbol, and gold links that main even if another is used.
@c(LLVMFuzzerTestOneInput)
public func oneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 { runOne(bytes, count) }
