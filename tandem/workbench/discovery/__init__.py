"""Operations of the ALU that networks would use, found, proved and measured."""
