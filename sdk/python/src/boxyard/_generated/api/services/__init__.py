"""Operations of one part of the API, a file each."""
