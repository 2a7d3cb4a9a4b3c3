from enum import StrEnum


class ExecSignalSignal(StrEnum):
    SIGABRT = "SIGABRT"
    SIGALRM = "SIGALRM"
    SIGCHLD = "SIGCHLD"
    SIGCONT = "SIGCONT"
    SIGHUP = "SIGHUP"
    SIGINT = "SIGINT"
    SIGKILL = "SIGKILL"
    SIGPIPE = "SIGPIPE"
    SIGQUIT = "SIGQUIT"
    SIGSTOP = "SIGSTOP"
    SIGTERM = "SIGTERM"
    SIGTSTP = "SIGTSTP"
    SIGTTIN = "SIGTTIN"
    SIGTTOU = "SIGTTOU"
    SIGUSR1 = "SIGUSR1"
    SIGUSR2 = "SIGUSR2"
    SIGWINCH = "SIGWINCH"

    def __str__(self) -> str:
        return str(self.value)
