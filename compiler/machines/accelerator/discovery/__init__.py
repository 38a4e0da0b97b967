"""Operations of the ALU that networks could use: what their passes have in common."""
