import { runAgentCommand } from './agent-command.ts'

// `npm run token -- --projects demo`, `npm run keys -- rotate token`: run the mode of the agent in the first argument.
process.exitCode = await runAgentCommand(process.argv.slice(2))
