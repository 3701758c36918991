/// `sluice completions`: scripts that complete this command line, made from the commands' declarations.
struct Completions: ParsableCommand {
  private static let shells = ["bash", "zsh", "fish"]

  static let configuration = CommandConfiguration(
    name: "completions", abstract: "Print a script that completes commands in a shell.",
    arguments: shells.joined(separator: "|"),
    discussion: "Load it in the shell's start-up file, or put it where the shell looks for completions.",
    example: """
      source <(sluice completions bash)
      sluice completions fish > ~/.config/fish/completions/sluice.fish
      """)

  private let shell: String

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard arguments.words.count == 1, let shell = arguments.words.first, Self.shells.contains(shell) else {
      throw .usage("`sluice completions` needs one of: \(Self.shells.joined(separator: ", "))")
    }
    self.shell = shell
  }

  func run() -> ExitCode {
    let tree = CommandTree(CommandLineTool.commands.map { $0.configuration })
    switch shell {
    case "zsh": Terminal.out(ZshCompletion.script(tree))
    case "fish": Terminal.out(FishCompletion.script(tree))
    default: Terminal.out(BashCompletion.script(tree))
    }
    return .success
  }
}
